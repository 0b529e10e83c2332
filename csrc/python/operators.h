// Operator functions made from the registry: positional arguments are the input slots and then the
// attributes.
#pragma once

#include <Python.h>

namespace dygraph::python {

// Lets the module (dygraph._core.ops) find relu, matmul_v2, ... by name, those of libraries that
// are loaded later too.
void AddOperatorFunctions(PyObject* module);
// PreconditionNotMet for an operator with more arguments than a function takes.
void CheckOperatorFunctions();

}  // namespace dygraph::python

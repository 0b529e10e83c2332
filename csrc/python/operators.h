// Operator functions made from the registry: positional arguments are the input slots and then the
// attributes.
#pragma once

#include <Python.h>

namespace dygraph::python {

// Adds relu, matmul_v2, ... to the module (dygraph._core.ops).
void AddOperatorFunctions(PyObject* module);

}  // namespace dygraph::python

// Variables of programs that are given for attributes (op/open_attr.h).
#pragma once

#include <Python.h>

#include "tape/layer.h"

namespace dygraph::python {

// Whether it is a variable of a program, or a list that holds one.
bool HoldsSymbol(PyObject* value);

// Opens the attribute for these variables. Numbers beside them become constants of the program.
OpenInput OpenFromPython(PyObject* value, int field, Attrs* attrs);

// Sets an attribute that may be open from a value or from variables of a program, which are added
// to `open`.
void SetOpenable(PyObject* value, int field, Attrs* attrs, std::vector<OpenInput>* open);

}  // namespace dygraph::python

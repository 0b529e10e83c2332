// Methods of Variable that are one operator with a few whole numbers: reshape, sum, mean, a basic
// index. What they do not know at once they leave to the function written in Python.
#pragma once

#include <Python.h>

namespace dygraph::python {

// Operators and attributes are looked up: no exception may pass later. Before the first call.
void PrepareCalls();
// A method that asks `slow` where it does not know; nullptr where there is none of this name.
PyObject* QuickMethod(const char* name, PyObject* slow);
// A function of `dygraph` that runs an operator on Variables of float32 and float64, by position
// or with `axis`, and leaves all other calls to `slow`. Its signature is for help().
PyObject* MakeQuickFunction(const char* signature, const char* op, PyObject* slow);
// x[index]; nullptr without an error where the index is to be looked at in Python.
PyObject* QuickItem(PyObject* self, PyObject* index);

}  // namespace dygraph::python

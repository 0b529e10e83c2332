// Calls of captured functions for Python.
#pragma once

#include <pybind11/pybind11.h>

namespace dygraph::python {

void BindCaptured(pybind11::module_& m);  // after BindProgram

}  // namespace dygraph::python

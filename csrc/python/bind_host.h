// Callbacks of the core into Python.
#pragma once

#include <pybind11/pybind11.h>

namespace dygraph::python {

void BindHost(pybind11::module_& m);  // printed text, functions that programs call

}  // namespace dygraph::python

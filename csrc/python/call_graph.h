// Calls of Python functions as graphs of a device.
#pragma once

#include <pybind11/pybind11.h>

namespace dygraph::python {

void BindCallGraph(pybind11::module_& m);  // into the module of devices

}  // namespace dygraph::python

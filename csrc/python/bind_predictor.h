// Predictors for Python.
#pragma once

#include <pybind11/pybind11.h>

namespace dygraph::python {

void BindPredictor(pybind11::module_& m);

}  // namespace dygraph::python

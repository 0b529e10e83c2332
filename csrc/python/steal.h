// What Python's C functions return, for code in pybind11.
#pragma once

#include <pybind11/pybind11.h>

namespace dygraph::python {

// Owns a new reference; throws the Python error that is set where there is none.
inline pybind11::object Steal(PyObject* o) {
  if (!o) throw pybind11::error_already_set();
  return pybind11::reinterpret_steal<pybind11::object>(o);
}

}  // namespace dygraph::python

// A Python object that C++ may keep and drop anywhere, on any thread, with or without the
// interpreter's lock.
#pragma once

#include <pybind11/pybind11.h>

#include "python/lock.h"

namespace dygraph::python {

class Kept {
 public:
  explicit Kept(pybind11::object o) : o_(o.release().ptr()) {}
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  ~Kept() {
    if (!PyGILState_Check() && InterpreterEnds()) return;
    Locked lock;
    Py_DECREF(o_);
  }
  PyObject* get() const { return o_; }

 private:
  PyObject* o_;
};

}  // namespace dygraph::python

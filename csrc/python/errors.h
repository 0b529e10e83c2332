// C++ errors become Python's own, under one base class.
#pragma once

#include <Python.h>

#include <exception>

#include "base/enforce.h"
#include "python/lock.h"

namespace dygraph::python {

void AddErrorClasses(PyObject* module);
// Sets the Python error for the exception in flight. Call inside catch (...).
void SetErrorFromException();
// The Python error that is set becomes an Error(Interrupted), so that it passes through C++
// unharmed.
[[noreturn]] void ThrowPythonError();
// Adds a line to the Python error that is set; not to one that ends the program.
void AppendToPythonError(const std::string& text);

// Runs f, turning exceptions into Python errors and a null result.
template <class F>
__attribute__((always_inline)) inline PyObject* Guarded(F&& f) {
  try {
    return f();
  } catch (abi::__forced_unwind&) {
    StopForGood();
  } catch (...) {
    SetErrorFromException();
    return nullptr;
  }
}

}  // namespace dygraph::python

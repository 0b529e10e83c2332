// Python's lock, and calls into Python, on threads that the end of the interpreter may surprise.
// Up to Python 3.13 a daemon thread that wants the lock then is taken apart by pthread_exit, which
// C++ frames do not survive: destructors and handlers on the way end the process. Here such a
// thread stops where it is, as it does from Python 3.14 on.
#pragma once

#include <Python.h>
#include <cxxabi.h>
#include <unistd.h>

namespace dygraph::python {

// To the end of the process, which is near.
[[noreturn]] inline void StopForGood() {
  for (;;) pause();
}

// f(), which takes the lock or runs Python code.
template <class F>
auto Surviving(F&& f) {
  try {
    return f();
  } catch (abi::__forced_unwind&) {
    StopForGood();
  }
}

inline bool InterpreterEnds() {
#if PY_VERSION_HEX >= 0x030D0000
  return !Py_IsInitialized() || Py_IsFinalizing();
#else
  return !Py_IsInitialized() || _Py_IsFinalizing();
#endif
}

// The lock, on any thread, while it lives.
class Locked {
 public:
  Locked() : state_(Surviving([] { return PyGILState_Ensure(); })) {}
  ~Locked() { PyGILState_Release(state_); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  PyGILState_STATE state_;
};

// Releases the lock, which the thread has, while it lives.
class Released {
 public:
  Released() : state_(PyEval_SaveThread()) {}
  ~Released() {
    Surviving([this] { PyEval_RestoreThread(state_); });
  }
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;

 private:
  PyThreadState* state_;
};

}  // namespace dygraph::python

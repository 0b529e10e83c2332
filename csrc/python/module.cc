// dygraph._core: what Python sees of the core. One file per subject; this one calls them.
#include <pybind11/pybind11.h>
#include <sys/syscall.h>

#include "op/op_registry.h"
#include "platform/code_pages.h"
#include "platform/interrupt.h"
#include "platform/onednn.h"
#include "python/bind.h"
#include "python/bind_host.h"
#include "python/bind_predictor.h"
#include "python/captured.h"
#include "python/convert.h"
#include "python/errors.h"
#include "python/layer_call.h"
#include "python/lock.h"
#include "python/operators.h"
#include "python/wrapper.h"
#include "run/interpreter.h"

namespace py = pybind11;

namespace dygraph::python {

namespace {

// What this thread released, while it computes without the lock.
thread_local PyThreadState* released = nullptr;

void* ReleaseLock() {
  if (!PyGILState_Check()) return nullptr;
  return released = PyEval_SaveThread();
}

void AcquireLock(void* state) {
  released = nullptr;
  Surviving([state] { PyEval_RestoreThread(static_cast<PyThreadState*>(state)); });
}

// Signals are the main thread's; the others must not queue for the lock.
bool IsMainThread() { return getpid() == static_cast<pid_t>(syscall(SYS_gettid)); }

// With the lock or, in a long call, without it.
void LookForSignals() {
  if (!IsMainThread()) return;
  if (PyGILState_Check()) {
    if (PyErr_CheckSignals() != 0) ThrowPythonError();
    return;
  }
  PyThreadState* state = released;
  if (!state) return;
  AcquireLock(state);
  int raised = PyErr_CheckSignals();  // runs the handlers
  released = PyEval_SaveThread();
  if (raised) ThrowPythonError();
}

void LendInterpreter() {
  InterpreterHooks& hooks = Interpreter();
  hooks.release_lock = ReleaseLock;
  hooks.acquire_lock = AcquireLock;
  hooks.check_signals = [] {
    if (PyGILState_Check() && PyErr_CheckSignals() != 0) ThrowPythonError();
  };
  hooks.append_to_error = AppendToPythonError;
  interrupt::SetLook(LookForSignals);
  Py_AtExit(EndOneDnn);  // before exit(), which also destroys what was made after this line
}

}  // namespace

PYBIND11_MODULE(_core_of_pybind, m) {
  m.attr("__version__") = DYGRAPH_VERSION;
  AddErrorClasses(m.ptr());
  py::register_exception_translator([](std::exception_ptr p) {
    try {
      if (p) std::rethrow_exception(p);
    } catch (const Error&) {
      SetErrorFromException();
    } catch (const std::bad_alloc&) {
      SetErrorFromException();
    } catch (const std::logic_error&) {  // the standard library's; pybind11's are runtime errors
      SetErrorFromException();
    }
  });
  FreezeRegistry();
  ForgetCodePages();
  if (!ReadyVariableType()) throw py::error_already_set();
  Py_INCREF(reinterpret_cast<PyObject*>(&VariableType));
  m.add_object("Variable", py::handle(reinterpret_cast<PyObject*>(&VariableType)));
  AddDTypes(m.ptr());
  BindPlatform(m);
  BindRegistry(m);
  BindAutograd(m);
  BindTape(m);
  BindWatch(m);
  BindVariable(m);
  BindDescriptions(m);
  BindScope(m);
  BindProgram(m);
  BindCaptured(m);
  BindUpdate(m);
  BindDevice(m);
  BindDLPack(m);
  BindFiles(m);
  BindPredictor(m);
  BindHost(m);
  BindLayerCall(m);
  py::module_ ops = m.def_submodule("ops", "Operators as functions, made from the registry.");
  AddOperatorFunctions(ops.ptr());
  LendInterpreter();
}

}  // namespace dygraph::python

// Types, hooks and the registry are the process's. pybind11's own entry takes the lock in a way
// that waits for ever in a subinterpreter, so this one stands before it; the module's name is the
// importer's.
extern "C" PYBIND11_EXPORT PyObject* PyInit__core();
extern "C" PYBIND11_EXPORT PyObject* PyInit__core() {
  if (PyInterpreterState_Get() == PyInterpreterState_Main())
    return dygraph::python::PyInit__core_of_pybind();
  PyErr_SetString(PyExc_ImportError,
                  "dygraph works in the main interpreter of a process alone, got an import in a "
                  "subinterpreter. Use threads or processes");
  return nullptr;
}

// dygraph._core: what Python sees of the core. One file per subject; this one calls them.
#include <pybind11/pybind11.h>

#include "imperative/thread_state.h"
#include "op/op_registry.h"
#include "python/bind.h"
#include "python/bind_host.h"
#include "python/convert.h"
#include "python/errors.h"
#include "python/operators.h"
#include "python/wrapper.h"

namespace py = pybind11;

namespace dygraph::python {

namespace {

void LendInterpreter() {
  InterpreterHooks& hooks = Interpreter();
  hooks.release_lock = []() -> void* { return PyGILState_Check() ? PyEval_SaveThread() : nullptr; };
  hooks.acquire_lock = [](void* state) {
    PyEval_RestoreThread(static_cast<PyThreadState*>(state));
  };
  hooks.check_signals = [] {
    if (PyGILState_Check() && PyErr_CheckSignals() != 0) ThrowPythonError();
  };
}

}  // namespace

PYBIND11_MODULE(_core, m) {
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
  BindProgram(m);
  BindUpdate(m);
  BindDLPack(m);
  BindFiles(m);
  BindHost(m);
  py::module_ ops = m.def_submodule("ops", "Operators as functions, made from the registry.");
  AddOperatorFunctions(ops.ptr());
  LendInterpreter();
}

}  // namespace dygraph::python

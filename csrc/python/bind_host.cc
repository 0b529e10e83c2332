#include "python/bind_host.h"

#include <pybind11/stl.h>

#include "base/output.h"
#include "op/host_function.h"
#include "python/callable.h"
#include "python/errors.h"
#include "python/wrapper.h"
#include "tape/thread_state.h"

namespace py = pybind11;

namespace dygraph::python {

namespace {

// Python's lock, and whose error it is when something raises: a thread that Python knows goes on
// with the error set, for another one it becomes a text.
class Interpreted {
 public:
  Interpreted() : known_(PyGILState_GetThisThreadState() != nullptr) {}
  [[noreturn]] void Fail() {
    if (known_) ThrowPythonError();
    py::error_already_set error;
    THROW(PreconditionNotMet, "a Python function must end without an error, got ", error.what());
  }

 private:
  bool known_;
  Locked lock_;
};

// To sys.stdout, whatever stands there: a notebook's cell, a test's capture.
void WriteToPython(const std::string& text) {
  if (InterpreterEnds()) return WriteToStandardOutput(text);
  Interpreted python;
  PyObject* out = PySys_GetObject("stdout");  // borrowed
  if (!out || out == Py_None) return;
  py::object keep = py::reinterpret_borrow<py::object>(out);
  PyObject* written = nullptr;
  PyObject* decoded =
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
  if (decoded)
    written = Surviving([&] { return PyObject_CallMethod(out, "write", "O", decoded); });
  Py_XDECREF(decoded);
  if (!written) python.Fail();
  Py_DECREF(written);
}

py::tuple Arguments(const KernelContext& ctx) {
  const auto& in = ctx.call().in;
  py::tuple slots(static_cast<size_t>(in.slots()) + 1);
  for (int s = 0; s < in.slots(); ++s) {
    py::list values;
    for (int i = 0; i < in.count(s); ++i) {
      const Value* v = in.at(s, i);
      values.append(v ? py::reinterpret_steal<py::object>(Wrap(Variable::Make(*v))) : py::none());
    }
    slots[static_cast<size_t>(s)] = values;
  }
  py::list wanted;
  for (int i = 0; i < ctx.OutputCount(0); ++i) wanted.append(ctx.HasOutput(0, i));
  slots[static_cast<size_t>(in.slots())] = wanted;
  return slots;
}

// function(a list for each slot, which outputs are wanted) -> a Variable for each output, None for
// those that are not
HostFunction FromPython(py::object function) {
  auto kept = std::make_shared<Kept>(std::move(function));
  return [kept](KernelContext& ctx) {
    Interpreted python;
    GradSwitch recording(false);
    py::tuple arguments = Arguments(ctx);
    PyObject* result =
        Surviving([&] { return PyObject_CallObject(kept->get(), arguments.ptr()); });
    if (!result) python.Fail();
    py::object owner = py::reinterpret_steal<py::object>(result);
    PyObject* list = PySequence_Fast(result, "what a function of a program returns is a list");
    if (!list) python.Fail();
    owner = py::reinterpret_steal<py::object>(list);
    int count = ctx.OutputCount(0);
    ENFORCE(PySequence_Fast_GET_SIZE(list) == count, InvalidArgument,
            "the function must give a value for each of the ", count, " outputs, got ",
            PySequence_Fast_GET_SIZE(list));
    for (int i = 0; i < count; ++i) {
      PyObject* item = PySequence_Fast_GET_ITEM(list, i);
      if (!ctx.HasOutput(0, i)) continue;
      ctx.OutValue(0, i) = RequireVariable(item, "what a function of a program returns").value();
    }
  };
}

}  // namespace

void BindHost(py::module_& m) {
  SetTextSink(&WriteToPython);
  m.def("add_host_function",
        [](py::object function) { return AddHostFunction(FromPython(std::move(function))); });
}

}  // namespace dygraph::python

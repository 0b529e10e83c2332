#include "python/layer_call.h"

#include <string>
#include <unordered_map>
#include <vector>

#include "python/errors.h"
#include "python/lock.h"
#include "python/wrapper.h"
#include "tape/thread_state.h"

namespace py = pybind11;

namespace dygraph::python {

namespace {

// Of one thread.
struct Modes {
  std::vector<PyObject*> running;  // layers whose forward runs, the outermost first
  bool forced = false;             // inside enable_grad(), which wins over eval mode
};
thread_local Modes modes;

// Given by dygraph.nn.layer; never freed, as calls may come until the process ends.
PyObject* needs_gradient = nullptr;  // (value) -> bool
PyObject* failed = nullptr;          // (layer, error, outermost): notes the path, may raise another
PyObject *str_forward, *str_pre_hooks, *str_post_hooks, *str_training, *str_with_hooks;

// "the layer Net was in eval mode when it was called", for ever: variables point to it.
const std::string* ReasonOf(PyTypeObject* type) {
  static auto& reasons = *new std::unordered_map<std::string, std::string>;
  std::string name = type->tp_name;
  name = name.substr(name.rfind('.') + 1);
  std::string& reason = reasons[name];
  if (reason.empty()) reason = "the layer " + name + " was in eval mode when it was called";
  return &reason;
}

// 1, 0, or -1 with an error.
int NeedsGradient(PyObject* value) {
  if (IsVariable(value)) return VarOf(value).RequiresGrad();
  if (value == Py_None || PyLong_CheckExact(value) || PyFloat_CheckExact(value)) return 0;
  PyObject* needs = Surviving([&] { return PyObject_CallOneArg(needs_gradient, value); });
  int truth = needs ? PyObject_IsTrue(needs) : -1;
  Py_XDECREF(needs);
  return truth;
}

// 1: the call runs without recording. -1 with an error.
int IsQuiet(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  PyObject* training = PyObject_GetAttr(self, str_training);
  int truth = training ? PyObject_IsTrue(training) : -1;
  Py_XDECREF(training);
  if (truth < 0) return -1;
  if (truth || !CurrentThread().recording || modes.forced) return 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    int needs = NeedsGradient(args[i]);
    if (needs != 0) return needs < 0 ? -1 : 0;
  }
  return 1;
}

// 1: there are none. -1 with an error.
int HasNoHooks(PyObject* self, PyObject* name) {
  PyObject* hooks = PyObject_GetAttr(self, name);
  int truth = hooks ? PyObject_IsTrue(hooks) : -1;
  Py_XDECREF(hooks);
  return truth < 0 ? -1 : !truth;
}

PyObject* CallWithHooks(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  PyObject* inputs = PyTuple_New(n);
  PyObject* kwargs = PyDict_New();
  PyObject* result = nullptr;
  bool made = inputs && kwargs;
  for (Py_ssize_t i = 0; made && i < n; ++i) {
    Py_INCREF(args[i]);
    PyTuple_SET_ITEM(inputs, i, args[i]);
  }
  for (Py_ssize_t k = 0; made && kwnames && k < PyTuple_GET_SIZE(kwnames); ++k)
    made = PyDict_SetItem(kwargs, PyTuple_GET_ITEM(kwnames, k), args[n + k]) == 0;
  if (made) result = PyObject_CallMethodObjArgs(self, str_with_hooks, inputs, kwargs, nullptr);
  Py_XDECREF(inputs);
  Py_XDECREF(kwargs);
  return result;
}

PyObject* Forward(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  int no_pre = HasNoHooks(self, str_pre_hooks);
  int no_post = no_pre < 0 ? -1 : HasNoHooks(self, str_post_hooks);
  if (no_post < 0) return nullptr;
  if (!no_pre || !no_post) return CallWithHooks(self, args, n, kwnames);
  SmallVector<PyObject*, 12> all;
  all.push_back(self);
  all.Append(args, args + n + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0));
  return PyObject_VectorcallMethod(str_forward, all.data(), static_cast<size_t>(n + 1), kwnames);
}

// Adds the layer to the path of the error that is set.
void NoteFailure(PyObject* self, bool outermost) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace) PyException_SetTraceback(value, trace);
  if (!PyErr_GivenExceptionMatches(type, PyExc_Exception)) return PyErr_Restore(type, value, trace);
  PyObject* done =
      PyObject_CallFunctionObjArgs(failed, self, value, outermost ? Py_True : Py_False, nullptr);
  if (done) {
    Py_DECREF(done);
    return PyErr_Restore(type, value, trace);
  }
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
}

PyObject* CallLayer(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  Modes& mine = modes;
  bool outermost = mine.running.empty();
  int quiet = 0;
  if (outermost) {
    quiet = IsQuiet(self, args, n + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0));
    if (quiet < 0) return nullptr;
  }
  ThreadState& thread = CurrentThread();
  if (quiet) {
    thread.SetRecording(false);
    thread.grad_off_reason = ReasonOf(Py_TYPE(self));
  }
  mine.running.push_back(self);
  PyObject* result = Surviving([&] { return Forward(self, args, n, kwnames); });
  if (__builtin_expect(!result, 0)) NoteFailure(self, outermost);
  mine.running.pop_back();
  if (quiet) {
    thread.SetRecording(true);
    thread.grad_off_reason = nullptr;
  }
  return result;
}

PyMethodDef call_def = {"__call__",
                        reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(CallLayer)),
                        METH_FASTCALL | METH_KEYWORDS,
                        "__call__($self, /, *inputs, **kwargs)\n--\n\n"
                        "What ``forward`` gives, between the hooks before and after it."};

}  // namespace

bool IsRecordingForced() { return modes.forced; }

void BindLayerCall(py::module_& m) {
  str_forward = PyUnicode_InternFromString("forward");
  str_pre_hooks = PyUnicode_InternFromString("_pre_hooks");
  str_post_hooks = PyUnicode_InternFromString("_post_hooks");
  str_training = PyUnicode_InternFromString("training");
  str_with_hooks = PyUnicode_InternFromString("_call_with_hooks");
  m.attr("layer_call") =
      py::reinterpret_steal<py::object>(PyDescr_NewMethod(&PyBaseObject_Type, &call_def));
  m.def("set_layer_functions", [](py::object needs, py::object note_failure) {
    Py_XDECREF(needs_gradient);
    needs_gradient = needs.release().ptr();
    Py_XDECREF(failed);
    failed = note_failure.release().ptr();
  });
  m.def(
      "running_layers",
      [] {
        py::list layers;
        for (size_t i = modes.running.size(); i-- > 0;)
          layers.append(py::reinterpret_borrow<py::object>(modes.running[i]));
        return layers;
      },
      "Layers of this thread whose forward runs, the innermost first.");
  m.def("recording_forced", [] { return modes.forced; });
  m.def("set_recording_forced", [](bool on) { modes.forced = on; });
  m.def("grad_off_reason", [] {
    const std::string* reason = CurrentThread().grad_off_reason;
    return reason ? *reason : std::string();
  });
}

}  // namespace dygraph::python

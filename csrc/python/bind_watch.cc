// Watching calls from Python: the profiler's events, callers, checks for NaN.
#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include "platform/profiler.h"
#include "python/bind.h"
#include "python/callable.h"
#include "python/errors.h"
#include "python/wrapper.h"
#include "run/watch.h"
#include "tape/layer.h"
#include "tape/thread_state.h"

namespace py = pybind11;

namespace dygraph::python {

namespace {

// The function answers only on threads that hold the interpreter's lock.
watch::CallerFunction CallerFrom(py::object function) {
  auto kept = std::make_shared<Kept>(std::move(function));
  return [kept]() -> std::string {
    if (!PyGILState_Check()) return "";
    PyObject* text = Surviving([&] { return PyObject_CallNoArgs(kept->get()); });
    if (!text) ThrowPythonError();
    return py::cast<std::string>(py::reinterpret_steal<py::object>(text));
  };
}

// Calls a Python function after each finished call of its thread: function(type, {slot:
// [variables]}, {slot: [variables]}).
class PythonListener : public Listener {
 public:
  explicit PythonListener(py::object function) : function_(std::move(function)) {}
  ~PythonListener() override { Stop(); }
  void Start() {
    Stop();
    AddListener(this);
  }
  void Stop() { RemoveListener(this); }

  void OnCall(const EagerCall& call) override {
    py::object in = Slots(call.op.inputs, call.in), out = Slots(call.op.outputs, call.out);
    py::object type = py::str(call.op.type);
    PyObject* result = Surviving([&] {
      return PyObject_CallFunctionObjArgs(function_.get(), type.ptr(), in.ptr(), out.ptr(),
                                          nullptr);
    });
    if (!result) ThrowPythonError();
    Py_DECREF(result);
  }

 private:
  static py::dict Slots(const std::vector<SlotInfo>& infos, const SlotList<Variable>& values) {
    py::dict slots;
    for (int s = 0; s < values.slots(); ++s) {
      py::list list;
      for (int i = 0; i < values.count(s); ++i)
        list.append(py::reinterpret_steal<py::object>(Wrap(Ref<Variable>(values.at(s, i)))));
      if (values.count(s)) slots[py::str(infos[s].name)] = list;
    }
    return slots;
  }
  Kept function_;
};

}  // namespace

void BindWatch(py::module_& m) {
  py::module_ w = m.def_submodule("watch", "Looking at operator calls while they run.");
  w.attr("EVENTS") = static_cast<uint32_t>(watch::kEvents);
  w.attr("LOG") = static_cast<uint32_t>(watch::kLog);
  w.attr("CHECK_FINITE") = static_cast<uint32_t>(watch::kCheckFinite);
  w.attr("CALLERS") = static_cast<uint32_t>(watch::kCallers);
  w.attr("SHAPES") = static_cast<uint32_t>(watch::kShapes);
  w.def("ask", &watch::Ask);
  w.def("release", &watch::Release);
  w.def("switches", &watch::Switches);
  w.def("set_caller_function",
        [](py::object function) { watch::SetCallerFunction(CallerFrom(std::move(function))); });
  w.def("add_event", [](const std::string& name, uint64_t start, uint64_t duration) {
    profiler::Event event;
    event.name = name;
    event.category = "range";
    event.start_ns = start;
    event.duration_ns = duration;
    profiler::Add(std::move(event));
  });
  // (name, category, start, duration, thread, bytes, shapes, caller, device, its start, its
  // duration); times in nanoseconds, device "" where it kept none
  w.def("events", [] {
    py::list list;
    for (const profiler::Event& e : profiler::Events()) {
      const std::string device = e.device_start_ns > 0 ? ToString(e.place) : "";
      list.append(py::make_tuple(e.name, e.category, e.start_ns, e.duration_ns, e.thread, e.bytes,
                                 e.shapes, e.caller, device, e.device_start_ns, e.device_ns));
    }
    return list;
  });
  w.def("clear", &profiler::Clear);
  w.def("dropped", &profiler::Dropped);
  py::class_<PythonListener>(w, "Listener", "Calls a function for each operator call of a thread.")
      .def(py::init<py::object>())
      .def("start", &PythonListener::Start)
      .def("stop", &PythonListener::Stop);
  watch::ReadFlags();  // those of the environment
}

}  // namespace dygraph::python

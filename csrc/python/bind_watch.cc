// Watching calls from Python: the profiler's events, callers, checks for NaN.
#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include "imperative/watch.h"
#include "platform/profiler.h"
#include "python/bind.h"
#include "python/callable.h"
#include "python/errors.h"

namespace py = pybind11;

namespace dygraph::python {

namespace {

// The function answers only on threads that hold the interpreter's lock.
watch::CallerFunction FromPython(py::object function) {
  auto kept = std::make_shared<Kept>(std::move(function));
  return [kept]() -> std::string {
    if (!PyGILState_Check()) return "";
    PyObject* text = PyObject_CallNoArgs(kept->get());
    if (!text) ThrowPythonError();
    return py::cast<std::string>(py::reinterpret_steal<py::object>(text));
  };
}

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
        [](py::object function) { watch::SetCallerFunction(FromPython(std::move(function))); });
  w.def("add_event", [](const std::string& name, uint64_t start, uint64_t duration) {
    profiler::Event event;
    event.name = name;
    event.category = "range";
    event.start_ns = start;
    event.duration_ns = duration;
    profiler::Add(std::move(event));
  });
  // (name, category, start, duration, thread, bytes, shapes, caller); times in nanoseconds
  w.def("events", [] {
    py::list list;
    for (const profiler::Event& e : profiler::Events()) {
      list.append(py::make_tuple(e.name, e.category, e.start_ns, e.duration_ns, e.thread, e.bytes,
                                 e.shapes, e.caller));
    }
    return list;
  });
  w.def("clear", &profiler::Clear);
  w.def("dropped", &profiler::Dropped);
  watch::ReadFlags();  // those of the environment
}

}  // namespace dygraph::python

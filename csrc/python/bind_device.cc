// Devices: facts, counts, streams, graphs.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "platform/accelerator.h"
#include "platform/backend.h"
#include "python/bind.h"
#include "python/call_graph.h"
#include "python/errors.h"
#include "run/fallback.h"

namespace py = pybind11;

namespace dygraph::python {

namespace {

void Warn(const std::string& text) {
  py::gil_scoped_acquire lock;
  if (PyErr_WarnEx(PyExc_RuntimeWarning, text.c_str(), 1) != 0) ThrowPythonError();
}

}  // namespace

void BindDevice(py::module_& m) {
  SetWarn(&Warn);
  py::module_ device = m.def_submodule("device", "Devices that have streams.");
  device.def("count", [] { return DeviceCount(DeviceKind::kCUDA); });
  device.def("problem", [] { return BackendProblem(); });
  device.def("facts", [](Place place) {
    const DeviceFacts f = GetAccelerator(place).Facts();
    py::dict all;
    all["name"] = f.name;
    all["major"] = f.major;
    all["minor"] = f.minor;
    all["multi_processor_count"] = f.processors;
    all["total_memory"] = f.total_bytes;
    all["free_memory"] = f.free_bytes;
    all["driver"] = f.driver;
    all["runtime"] = f.runtime;
    return all;
  });
  device.def("counts", [](Place place) {
    const DeviceCounts c = GetAccelerator(place).Counts();
    py::dict all;
    all["waits"] = c.waits;
    all["copies_in"] = c.copies_in;
    all["copies_out"] = c.copies_out;
    all["bytes_in"] = c.bytes_in;
    all["bytes_out"] = c.bytes_out;
    all["graph_launches"] = c.graph_launches;
    return all;
  });
  device.def("stream", [](Place place) {
    return reinterpret_cast<uintptr_t>(GetAccelerator(place).Stream());
  });
  device.def("let_wait", [](Place place, uintptr_t other) {
    GetAccelerator(place).LetWait(reinterpret_cast<void*>(other));
  });
  device.def("wait_for", [](Place place, uintptr_t other) {
    GetAccelerator(place).WaitFor(reinterpret_cast<void*>(other));
  });
  device.def("fallbacks", [] { return Fallbacks(); });

  py::class_<DeviceEvent>(device, "Event")
      .def("done", &DeviceEvent::Done)
      .def("wait", &DeviceEvent::Wait, py::call_guard<py::gil_scoped_release>())
      .def("since", &DeviceEvent::Since);
  device.def("record", [](Place place) { return GetAccelerator(place).Record(); });
  py::class_<DeviceGraph>(device, "Graph").def("launch", &DeviceGraph::Launch);
  device.def("begin_capture", [](Place place) { GetAccelerator(place).BeginCapture(); });
  device.def("end_capture", [](Place place) { return GetAccelerator(place).EndCapture(); });
  BindCallGraph(device);
}

}  // namespace dygraph::python

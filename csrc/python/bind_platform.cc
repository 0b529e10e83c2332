#include <dlfcn.h>
#include <pybind11/stl.h>
#include <unistd.h>

#include <iterator>

#include "base/flags.h"
#include "base/load_problems.h"
#include "memory/memory.h"
#include "op/op_registry.h"
#include "platform/after_work.h"
#include "platform/device_context.h"
#include "platform/thread_count.h"
#include "platform/threads.h"
#include "python/bind.h"
#include "python/convert.h"
#include "python/operators.h"
#include "run/watch.h"
#include "tape/thread_state.h"

namespace py = pybind11;

namespace dygraph::python {

namespace {

// Operators, kernels and devices in the library register themselves while it loads. It stays
// loaded, also after a mistake: what it did register points into it.
std::vector<std::string> LoadLibrary(const std::string& path) {
  ENFORCE(access(path.c_str(), R_OK) == 0, FileNotFound,
          "the library to load must exist and be readable, got '", path, "'");
  std::vector<std::string> before = OpNames(), after, added;
  // else dlopen would search elsewhere
  std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  if (!dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    const char* reason = dlerror();
    THROW(InvalidArgument,
          "the library must be a shared object built against this version's headers, got ",
          reason ? reason : path);
  }
  FreezeRegistry();
  ThrowLoadProblems();  // of what needs no freeze, such as passes
  CheckOperatorFunctions();
  after = OpNames();
  std::set_difference(after.begin(), after.end(), before.begin(), before.end(),
                      std::back_inserter(added));
  return added;
}

}  // namespace

void BindPlatform(py::module_& m) {
  py::class_<Place>(m, "Place", "Where data lies: a kind of device and its number.")
      .def("__repr__",
           [](Place p) { return ToString(p) + (p.kind == DeviceKind::kCUDA ? "" : "()"); })
      .def("__eq__",
           [](Place a, py::object b) { return py::isinstance<Place>(b) && a == b.cast<Place>(); })
      .def("__hash__", [](Place p) { return static_cast<int>(p.kind) * 256 + p.id; })
      .def_property_readonly("kind", [](Place p) { return DeviceKindName(p.kind); })
      .def_property_readonly("device_id", [](Place p) { return static_cast<int>(p.id); })
      .def_property_readonly("available", [](Place p) { return IsAvailable(p); });
  m.def("CPUPlace", &CPUPlace,
        "The processor and its memory.\n\n"
        "Examples\n--------\n"
        ">>> import dygraph\n"
        ">>> place = dygraph.CPUPlace()\n"
        ">>> place, place.available\n"
        "(CPUPlace(), True)\n");
  m.def("CUDAPlace", &CUDAPlace, py::arg("device_id") = 0,
        "An NVIDIA GPU. IndexError for a negative or huge number.\n\n"
        "Examples\n--------\n"
        ">>> import dygraph\n"
        ">>> dygraph.CUDAPlace(1)\n"
        "CUDAPlace(1)\n");
  m.def("CUDAPinnedPlace", &CUDAPinnedPlace,
        "Page-locked host memory, for fast copies to a GPU.\n\n"
        "Examples\n--------\n"
        ">>> import dygraph\n"
        ">>> dygraph.CUDAPinnedPlace()\n"
        "CUDAPinnedPlace()\n");
  m.def(
      "custom_place",
      [](const std::string& name, int id) {
        DeviceKind kind;
        ENFORCE(FindDeviceKind(name, &kind), NotFound,
                "no device of the given name has been registered, got '", name, "'");
        return Place{kind, static_cast<uint8_t>(id)};
      },
      py::arg("name"), py::arg("device_id") = 0);
  m.def("load_library", &LoadLibrary, py::arg("path"),
        "Loads a shared object of operators, kernels or devices; returns the names of the "
        "operators it added.");
  m.def("current_place", [] { return CurrentThread().place; });
  m.def("set_current_place", [](py::object place) {
    Place p = PlaceFromPython(place.ptr());
    GetDeviceContext(p);  // raises for a place whose backend is not built
    CurrentThread().place = p;
  });
  m.def(
      "wait",
      [](Place p) {
        {
          py::gil_scoped_release unlocked;
          GetDeviceContext(p).Wait();
        }
        RunDue();
      },
      "Returns when all work queued on the place is done.");
  m.def("cast_floats_to", [] {
    return py::reinterpret_steal<py::object>(DTypeToPython(CurrentThread().cast_floats_to));
  });
  m.def("set_cast_floats_to", [](py::object dtype) {
    CurrentThread().cast_floats_to = dtype.is_none() ? DType::kUnset : DTypeFromPython(dtype.ptr());
  });

  m.def("all_flags", [] {
    py::dict all;
    for (const FlagInfo& f : AllFlags()) {
      all[py::str("FLAGS_" + f.name)] =
          py::make_tuple(py::cast(f.value), py::cast(f.default_value), f.help);
    }
    return all;
  });
  m.def("get_flag", [](const std::string& name) { return GetFlag(name); });
  m.def("set_flag", [](const std::string& name, const FlagValue& value) {
    SetFlag(name, value);
    watch::ReadFlags();
    ReadThreadFlag();
  });
  m.def("unknown_environment_flags", &UnknownEnvironmentFlags);
  m.def("flag_problems", &FlagProblems);

  m.def(
      "num_threads", &NumThreads,
      "Compute threads of the calling thread: 1 in threads that serve (workers of loaders) and in "
      "a child after a fork.\n\n"
      "At first FLAGS_num_threads, where that is set; else the cores this process may use, by "
      "affinity and cgroup quota, or OMP_NUM_THREADS where that is smaller. Python threads that "
      "compute at the same time share them.\n\n"
      ">>> import dygraph\n"
      ">>> dygraph.num_threads() >= 1\n"
      "True");
  m.def("set_service_thread", &SetServiceThread);
  m.def("set_num_threads", &SetNumThreads, py::arg("n"),
        "Compute with n threads, 1 to 1024, in this process. A forked child keeps one.\n\n"
        "Our own kernels give the same bits for any number; docs/determinism.md names those of "
        "oneDNN that do not.\n\n"
        ">>> import dygraph\n"
        ">>> dygraph.set_num_threads(dygraph.num_threads())");
  m.def("available_cores", &AvailableCores);
  m.def("quota_cores", &QuotaCores, py::arg("groups"), py::arg("root"));

  py::module_ memory = m.def_submodule("memory", "Allocation statistics by place.");
  memory.def("stats", [](Place p) {
    memory::Stats s = memory::GetStats(p);
    py::dict d;
    d["used"] = s.used;
    d["peak"] = s.peak;
    d["reserved"] = s.reserved;
    d["largest_free"] = s.largest_free;
    d["live_blocks"] = s.live_blocks;
    d["total_allocs"] = s.total_allocs;
    d["arenas"] = s.arenas;
    return d;
  });
  memory.def("used", &memory::Used);
  memory.def("reset_peak", &memory::ResetPeak);
  memory.def("release_free", &memory::ReleaseFree);
  memory.def("fail_allocation", &memory::FailAllocation);
}

}  // namespace dygraph::python

// Devices: facts, counts, streams, graphs, batches copied ahead, memory for CuPy.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstring>
#include <exception>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "memory/memory.h"
#include "platform/accelerator.h"
#include "platform/after_work.h"
#include "platform/backend.h"
#include "python/bind.h"
#include "python/call_graph.h"
#include "python/caster.h"
#include "python/errors.h"
#include "run/fallback.h"
#include "run/interpreter.h"
#include "run/transform.h"

namespace py = pybind11;

namespace dygraph::python {

namespace {

void Warn(const std::string& text) {
  py::gil_scoped_acquire lock;
  if (PyErr_WarnEx(PyExc_RuntimeWarning, text.c_str(), 1) != 0) ThrowPythonError();
}

// Batches copied ahead ----------------------------------------------------------------------------

// Blocks of a device that a copy beside the computation may fill. A block that was just freed will
// not do: queued work may still use it. So these are kept here, and used again once nothing else
// holds them and the device has passed that point.
class AheadBlocks {
 public:
  // A block for so many bytes; `fresh`: queued work may still use its memory.
  Ref<Storage> Take(Place place, size_t bytes, bool* fresh) {
    std::lock_guard<std::mutex> lock(mutex_);
    Accelerator& device = GetAccelerator(place);
    Kept* unfit = nullptr;  // for the longest time
    for (Kept& kept : kept_) {
      if (kept.storage->place() != place) continue;
      if (!kept.storage->unique()) {
        kept.passed = nullptr;
        continue;
      }
      if (!kept.passed) kept.passed = device.Record();
      if (!kept.passed->Done()) continue;
      const size_t room = kept.storage->bytes();
      if (room >= bytes && room / 2 <= bytes) {
        kept.passed = nullptr;
        kept.left = 0;
        *fresh = false;
        return kept.storage;
      }
      ++kept.left;
      if (!unfit || kept.left > unfit->left) unfit = &kept;
    }
    *fresh = true;
    Ref<Storage> storage = Storage::Make(place, bytes);
    if (unfit && (kept_.size() == kMost || unfit->left > kMost)) {  // batches have other sizes now
      *unfit = {storage, nullptr, 0};
    } else if (kept_.size() < kMost) {
      kept_.push_back({storage, nullptr, 0});
    }
    return storage;
  }
  void Forget() {
    std::lock_guard<std::mutex> lock(mutex_);
    kept_.clear();
  }

 private:
  static constexpr size_t kMost = 32;
  struct Kept {
    Ref<Storage> storage;
    std::unique_ptr<DeviceEvent> passed;  // since nothing else holds it
    size_t left = 0;                      // how often it did not fit
  };
  std::mutex mutex_;
  std::vector<Kept> kept_;
};

AheadBlocks& BlocksAhead() {
  static AheadBlocks* blocks = new AheadBlocks;
  return *blocks;
}

// The values of a host variable on their way to a device, beside the computation.
class CopyAhead {
 public:
  CopyAhead(const Given& v, Place place) : place_(place) {
    RunDue();
    const Tensor host = v->value().ToDense().Plain();
    if (host.place() == place || host.numel() == 0) {
      values_ = CopyTo(host, place);
      return;
    }
    {
      WithoutLock unlocked(host.numel() > kWorthUnlocking);
      pinned_ = CopyTo(host, CUDAPinnedPlace());
    }
    bool fresh = false;
    values_.ShareStorage(BlocksAhead().Take(place, pinned_.bytes(), &fresh), pinned_.dims(),
                         pinned_.dtype());
    values_.SetLoD(host.lod_ref());
    Accelerator& device = GetAccelerator(place);
    if (fresh) {
      device.CopyFromHost(values_.mutable_raw_data(), pinned_.raw_data(), pinned_.bytes());
    } else {
      copied_ = device.CopyAhead(values_.mutable_raw_data(), pinned_.raw_data(), pinned_.bytes());
    }
  }
  ~CopyAhead() {  // a block that was not taken may be used again
    try {
      Arrive();
    } catch (const std::exception&) {
      // The device is lost.
    }
  }

  // The values, once. What is queued from here on waits for them.
  Ref<Variable> Take() {
    ENFORCE(!copied_ || !GetAccelerator(place_).Capturing(), PreconditionNotMet,
            "a copy of a loader cannot be part of a graph of ", place_);
    Arrive();
    return Variable::Make(Value(std::move(values_)));
  }

 private:
  void Arrive() {
    if (copied_) GetAccelerator(place_).WaitFor(*copied_);
    copied_ = nullptr;
    if (pinned_.has_data())
      AfterQueuedWork(place_, [held = std::move(pinned_)]() mutable { held = Tensor(); });
    pinned_ = Tensor();
  }

  Place place_;
  Tensor values_;
  Tensor pinned_;                        // which the copy reads
  std::unique_ptr<DeviceEvent> copied_;  // until our stream waits for it
};

// Memory for CuPy ---------------------------------------------------------------------------------

// The functions of cupy.cuda.CFunctionAllocator. CuPy computes on its current stream, ours is
// another: a block is handed over with a wait of the one for the other.
struct CuPyBlocks {
  std::mutex mutex;
  std::unordered_map<void*, size_t> bytes;
};

CuPyBlocks& ForCuPy() {
  static CuPyBlocks* blocks = new CuPyBlocks;
  return *blocks;
}

void* AllocForCuPy(void*, size_t bytes, int device) {
  try {
    const Place place = CUDAPlace(device);
    void* block = memory::Alloc(place, bytes);
    GetAccelerator(place).LetWait(DefaultStream());
    std::lock_guard<std::mutex> lock(ForCuPy().mutex);
    ForCuPy().bytes[block] = bytes;
    return block;
  } catch (const std::exception&) {
    return nullptr;
  }
}

void FreeForCuPy(void*, void* block, int device) {
  if (!block) return;
  size_t bytes = 0;
  {
    std::lock_guard<std::mutex> lock(ForCuPy().mutex);
    auto found = ForCuPy().bytes.find(block);
    if (found == ForCuPy().bytes.end()) return;
    bytes = found->second;
    ForCuPy().bytes.erase(found);
  }
  const Place place = CUDAPlace(device);
  AfterOthersWork(place, [=] { memory::Free(place, block, bytes); });
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
    all["moved_inputs"] = MovedInputs(place);
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
  py::class_<CopyAhead>(device, "CopyAhead")
      .def(py::init<const Given&, Place>())
      .def("take", &CopyAhead::Take);
  device.def("forget_ahead", [] { BlocksAhead().Forget(); });
  device.def("functions_for_cupy", [] {
    return py::make_tuple(reinterpret_cast<uintptr_t>(&AllocForCuPy),
                          reinterpret_cast<uintptr_t>(&FreeForCuPy));
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

// What a context of a device offers beside copies: streams, times, graphs, facts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "platform/device_context.h"

namespace dygraph {

// A point in the work of a device.
class DeviceEvent {
 public:
  virtual ~DeviceEvent() = default;
  virtual bool Done() = 0;
  virtual void Wait() = 0;
  // Milliseconds between two points that have been passed.
  virtual double Since(const DeviceEvent& earlier) = 0;
};

// Work that was recorded, to be launched as one.
class DeviceGraph {
 public:
  virtual ~DeviceGraph() = default;
  virtual void Launch() = 0;
};

struct DeviceFacts {
  std::string name;
  int major = 0, minor = 0;  // compute capability
  int processors = 0;
  size_t total_bytes = 0, free_bytes = 0;
  std::string driver, runtime;  // versions
};

// Since the process began. A wait stops the host until the device has done its work.
struct DeviceCounts {
  int64_t waits = 0, copies_in = 0, copies_out = 0, bytes_in = 0, bytes_out = 0, graph_launches = 0;
};

class Accelerator : public DeviceContext {
 public:
  using DeviceContext::DeviceContext;
  virtual DeviceFacts Facts() = 0;
  virtual DeviceCounts Counts() = 0;

  // The stream on which all work of the device runs, as its library's handle.
  virtual void* Stream() = 0;
  // Another stream waits for what is queued on ours, and ours for what is queued on that one.
  virtual void LetWait(void* other) = 0;
  virtual void WaitFor(void* other) = 0;

  // A copy from pinned memory beside the computation. The block must not be in use by queued work,
  // and work that uses it must be queued behind a WaitFor() of the event.
  virtual std::unique_ptr<DeviceEvent> CopyAhead(void* to, const void* pinned, size_t bytes) = 0;
  // What is queued later on our stream waits for it.
  virtual void WaitFor(const DeviceEvent& event) = 0;

  virtual std::unique_ptr<DeviceEvent> Record() = 0;

  // Between the two calls the work of the calling thread is recorded, not run, and its waits raise;
  // other threads go on. What it copies from the host becomes part of the graph as it is.
  // PreconditionNotMet where another thread records. EndCapture gives nothing where the recording
  // failed.
  virtual void BeginCapture() = 0;
  virtual std::unique_ptr<DeviceGraph> EndCapture() = 0;
  virtual bool Capturing() const = 0;  // the calling thread
};

// CUDA's default stream, which waits for all streams but "non-blocking" ones, and they for it.
inline void* DefaultStream() { return reinterpret_cast<void*>(1); }

// Unimplemented where the place is the host or its backend offers none of this.
Accelerator& GetAccelerator(Place place);
int DeviceCount(DeviceKind kind);  // 0 where there is no backend or no device

}  // namespace dygraph

// What a kernel needs to know of its device. One context per Place, made at first use, in a pool.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "platform/place.h"

namespace dygraph {

class DeviceContext {
 public:
  explicit DeviceContext(Place place) : place_(place) {}
  virtual ~DeviceContext() = default;
  Place place() const { return place_; }
  // Copies between this device and host memory (CPUPlace), and within this device.
  virtual void CopyFromHost(void* to, const void* host, size_t bytes) = 0;
  virtual void CopyToHost(void* host, const void* from, size_t bytes) = 0;
  virtual void CopyWithin(void* to, const void* from, size_t bytes) = 0;
  virtual void Wait() {}  // until all queued work is done

 private:
  Place place_;
};

using DeviceContextFactory = std::function<std::unique_ptr<DeviceContext>(Place)>;

// AlreadyExists when the kind has a factory.
void RegisterDeviceContext(DeviceKind kind, DeviceContextFactory factory);
// Unimplemented when the place's backend was not built: "CUDAPlace(0): this build has no CUDA
// backend. ...".
DeviceContext& GetDeviceContext(Place place);
bool IsAvailable(Place place);
[[noreturn]] void ThrowNoBackend(Place place);  // that error, for other things a place may lack

}  // namespace dygraph

// What a kernel needs to know of its device. One context per Place, made at first use, in a pool.
#pragma once

#include <cstddef>
#include <cstdint>
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
  // A copy from another device of the same kind; false: it must go through the host.
  virtual bool CopyFromPeer(void* /*to*/, DeviceContext& /*peer*/, const void* /*from*/,
                            size_t /*bytes*/) {
    return false;
  }
  // As tensor/image_order.h; false: the host must do it.
  virtual bool TransposeImages(const void* /*from*/, void* /*to*/, int64_t /*n*/, int64_t /*rows*/,
                               int64_t /*cols*/, size_t /*element_size*/) {
    return false;
  }
  virtual void Wait() {}  // until all queued work is done
  // Before a kernel: makes the device the thread's current one, and raises what the device has
  // reported since.
  virtual void Enter() {}

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

#include "platform/device_context.h"

#include <atomic>
#include <cstring>
#include <mutex>

#include "base/enforce.h"
#include "platform/backend.h"

namespace dygraph {

std::atomic<bool> g_has_devices{false};

namespace {

class CPUContext : public DeviceContext {
 public:
  using DeviceContext::DeviceContext;
  void CopyFromHost(void* to, const void* host, size_t bytes) override { Copy(to, host, bytes); }
  void CopyToHost(void* host, const void* from, size_t bytes) override { Copy(host, from, bytes); }
  void CopyWithin(void* to, const void* from, size_t bytes) override { Copy(to, from, bytes); }

 private:
  static void Copy(void* to, const void* from, size_t bytes) {
    if (bytes) std::memmove(to, from, bytes);  // empty tensors may have null pointers
  }
};

// Lives until the process ends: contexts are used by static destructors too.
struct Pool {
  // Recursive: a factory may ask for the context of another place.
  std::recursive_mutex mutex;
  DeviceContextFactory factories[kMaxDeviceKinds];
  std::atomic<DeviceContext*> contexts[kMaxDeviceKinds][256] = {};
  Pool() {
    factories[0] = [](Place place) { return std::make_unique<CPUContext>(place); };
  }
};

Pool& GetPool() {
  static Pool* pool = new Pool;
  return *pool;
}

size_t Index(DeviceKind kind) {
  DeviceKindName(kind);  // throws for a kind that is not registered
  return static_cast<size_t>(kind);
}

}  // namespace

void RegisterDeviceContext(DeviceKind kind, DeviceContextFactory factory) {
  Pool& pool = GetPool();
  size_t index = Index(kind);
  std::lock_guard<std::recursive_mutex> lock(pool.mutex);
  ENFORCE(!pool.factories[index], AlreadyExists, DeviceKindName(kind),
          " has a device context already");
  pool.factories[index] = std::move(factory);
  g_has_devices = true;
}

DeviceContext& GetDeviceContext(Place place) {
  Pool& pool = GetPool();
  size_t index = static_cast<size_t>(place.kind);
  if (__builtin_expect(index >= kMaxDeviceKinds, 0)) Index(place.kind);
  std::atomic<DeviceContext*>& slot = pool.contexts[index][place.id];
  if (DeviceContext* context = slot.load(std::memory_order_acquire)) return *context;
  OpenBackend(place.kind);
  std::lock_guard<std::recursive_mutex> lock(pool.mutex);
  if (DeviceContext* context = slot.load(std::memory_order_acquire)) return *context;
  if (!pool.factories[index]) ThrowNoBackend(place);
  DeviceContext* made = pool.factories[index](place).release();
  slot.store(made, std::memory_order_release);
  return *made;
}

bool IsAvailable(Place place) {
  try {
    GetDeviceContext(place);
    return true;
  } catch (const Error&) {  // no backend, or the backend has no device of this number
    return false;
  }
}

void ThrowNoBackend(Place place) {
  if (place.kind == DeviceKind::kCUDA || place.kind == DeviceKind::kCUDAPinned) {
    ENFORCE(BackendProblem().empty(), Unimplemented, place,
            ": the library of the CUDA backend must be one that can be opened, got ",
            BackendProblem());
    THROW(Unimplemented, place, ": this build has no CUDA backend. ",
          "Install one with DYGRAPH_WITH_CUDA=1, or use dygraph.CPUPlace().");
  }
  THROW(Unimplemented, place, ": no backend is registered for this kind of device. ",
        "Load the plug-in that provides it.");
}

}  // namespace dygraph

#include "memory/device_registration.h"

#include <map>
#include <mutex>

#include "base/enforce.h"
#include "base/load_problems.h"

namespace dygraph::memory {

namespace {
// Where each device was registered; lives as long as the process, like what it describes.
struct Places {
  std::mutex mutex;
  std::map<std::string, std::string> by_name;
};

Places& ThePlaces() {
  static Places* places = new Places;
  return *places;
}
}  // namespace

DeviceRegistration::DeviceRegistration(const char* name, DeviceContextFactory context,
                                       SystemAllocatorFactory allocator, const char* file,
                                       int line) {
  Places& places = ThePlaces();
  std::lock_guard<std::mutex> lock(places.mutex);
  std::string here = std::string(file) + ":" + std::to_string(line);
  auto [first, fresh] = places.by_name.emplace(name, here);
  if (!fresh) {
    AddLoadProblem(ErrorKind::AlreadyExists, "device " + std::string(name) + " is registered at " +
                                                 first->second + " and at " + here);
    return;
  }
  try {
    DeviceKind kind = RegisterDeviceKind(name);
    RegisterDeviceContext(kind, std::move(context));
    RegisterSystemAllocator(kind, std::move(allocator));
  } catch (const Error& e) {
    AddLoadProblem(e.kind(), here + ": " + e.message());
  }
}

}  // namespace dygraph::memory

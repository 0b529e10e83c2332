#include "platform/place.h"

#include <deque>
#include <mutex>

#include "base/enforce.h"

namespace dygraph {
namespace {

// Names are only ever added, and a deque does not move them: references to them stay good without
// the mutex.
struct Names {
  std::mutex mutex;
  std::deque<std::string> list{"CPUPlace", "CUDAPlace", "CUDAPinnedPlace"};
};

Names& GetNames() {
  static Names* names = new Names;
  return *names;
}

bool Find(const Names& names, const std::string& name, DeviceKind* kind) {
  for (size_t i = 0; i < names.list.size(); ++i) {
    if (names.list[i] != name) continue;
    *kind = static_cast<DeviceKind>(i);
    return true;
  }
  return false;
}

}  // namespace

Place CUDAPlace(int id) {
  ENFORCE(0 <= id && id < 128, OutOfRange, "the id of a CUDAPlace must be in [0, 128), got ", id);
  return {DeviceKind::kCUDA, static_cast<uint8_t>(id)};
}

DeviceKind RegisterDeviceKind(const std::string& name) {
  ENFORCE(!name.empty(), InvalidArgument, "the name of a device kind must not be empty");
  Names& names = GetNames();
  std::lock_guard<std::mutex> lock(names.mutex);
  DeviceKind taken;
  ENFORCE(!Find(names, name, &taken), AlreadyExists, "the device kind '", name,
          "' is registered already");
  ENFORCE(names.list.size() < kMaxDeviceKinds, PreconditionNotMet, "there may be at most ",
          kMaxDeviceKinds, " kinds of device, got one more: '", name, "'");
  names.list.push_back(name);
  return static_cast<DeviceKind>(names.list.size() - 1);
}

const std::string& DeviceKindName(DeviceKind kind) {
  Names& names = GetNames();
  std::lock_guard<std::mutex> lock(names.mutex);
  size_t index = static_cast<size_t>(kind);
  ENFORCE(index < names.list.size(), OutOfRange, "a device kind must be below ", names.list.size(),
          ", got ", index);
  return names.list[index];
}

bool FindDeviceKind(const std::string& name, DeviceKind* kind) {
  Names& names = GetNames();
  std::lock_guard<std::mutex> lock(names.mutex);
  return Find(names, name, kind);
}

std::string ToString(Place place) {
  const std::string& name = DeviceKindName(place.kind);
  bool numbered = place.kind != DeviceKind::kCPU && place.kind != DeviceKind::kCUDAPinned;
  return numbered ? name + "(" + std::to_string(place.id) + ")" : name;
}

}  // namespace dygraph

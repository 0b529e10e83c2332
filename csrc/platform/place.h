// Where data lies and operators run: a kind of device and its number.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>

namespace dygraph {

enum class DeviceKind : uint8_t { kCPU = 0, kCUDA = 1, kCUDAPinned = 2, kFirstCustom = 3 };
constexpr int kMaxDeviceKinds = 8;

struct Place {
  DeviceKind kind = DeviceKind::kCPU;
  uint8_t id = 0;
  bool operator==(Place other) const { return kind == other.kind && id == other.id; }
  bool operator!=(Place other) const { return !(*this == other); }
};

inline Place CPUPlace() { return {}; }
Place CUDAPlace(int id);  // OutOfRange for a negative or huge id
inline Place CUDAPinnedPlace() { return {DeviceKind::kCUDAPinned, 0}; }

// A device added from outside (a plug-in): gets the next free kind. AlreadyExists for a taken name.
DeviceKind RegisterDeviceKind(const std::string& name);
// "CPUPlace", "CUDAPlace", "CUDAPinnedPlace", or the custom name.
const std::string& DeviceKindName(DeviceKind kind);
bool FindDeviceKind(const std::string& name, DeviceKind* kind);

std::string ToString(Place place);  // CPUPlace, CUDAPlace(0), CUDAPinnedPlace
inline std::ostream& operator<<(std::ostream& out, Place place) { return out << ToString(place); }

}  // namespace dygraph

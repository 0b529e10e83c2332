// The backends of devices: libraries that are opened when the first place of their kind is used, so
// that importing does not pay for them.
#pragma once

#include <atomic>
#include <string>

#include "platform/place.h"

namespace dygraph {

// False as long as every place of the process is the host's.
extern std::atomic<bool> g_has_devices;

// Opens the library of CUDAPlace and CUDAPinnedPlace, once for the process; other kinds have none
// of ours. It registers their contexts, allocators and kernels.
void OpenBackend(DeviceKind kind);
// Why opening it failed; empty if it did not fail or was not tried.
const std::string& BackendProblem();

// Raises in a child of fork() once the parent has used the device: its driver does not survive one.
void RefuseAfterFork(Place place);
// The process used a device; children of fork() may not.
void NoteDeviceUse();

}  // namespace dygraph

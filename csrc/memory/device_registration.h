// A kind of device from outside this tree: its name, its context, where its arenas come from.
//   REGISTER_DEVICE(NpuPlace, MakeNpuContext, MakeNpuAllocator);
// Kernels for it are registered with REGISTER_DEVICE_KERNEL of op/op_registry.h.
#pragma once

#include "memory/memory.h"
#include "platform/device_context.h"

namespace dygraph::memory {

class DeviceRegistration {
 public:
  DeviceRegistration(const char* name, DeviceContextFactory context,
                     SystemAllocatorFactory allocator, const char* file, int line);
};

}  // namespace dygraph::memory

#define REGISTER_DEVICE(name, context, allocator)                          \
  static ::dygraph::memory::DeviceRegistration device_registration_##name( \
      #name, context, allocator, __FILE__, __LINE__)

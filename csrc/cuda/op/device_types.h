// op/device_types.h on the device: further types of a kernel of REGISTER_KERNELS.
#pragma once

#include "op/op_registry.h"

#define REGISTER_DEVICE_TYPES(type, kernel, ...)                                               \
  static ::dygraph::KernelRegistration kernel_registration_##type##_more(                      \
      #type, ::dygraph::DeviceKind::kCUDA, ::dygraph::KernelLayout::kPlain,                    \
      ::dygraph::Library::kPlain, ::dygraph::cuda::KernelsFor<kernel, __VA_ARGS__>(), nullptr, \
      __FILE__, __LINE__)

// Included before everything else where a file of an operator is compiled for CUDA
// (-include cuda/pass.h -I csrc/cuda -I csrc): nvcc makes device code of its loops, and what it
// registers are kernels for CUDAPlace. Headers below csrc/cuda/ stand in for those of the same name
// in csrc/, with loops of the device.
#pragma once

#include <cuda_runtime.h>

#define DYGRAPH_CUDA_PASS 1
#define DYGRAPH_INLINE __host__ __device__ __forceinline__
#define DYGRAPH_BOTH __host__ __device__
#define DYGRAPH_FN __device__  // of host and device it would be copied to the heap for each launch

#include "op/epilogue.h"
#include "op/gradient_shapes.h"
#include "op/lod_rule.h"
#include "op/op_registry.h"
#include "op/open_attr.h"
#include "op/pointwise.h"

// The host's pass has registered the operators and what is known of them.
#undef REGISTER_OPERATOR
#undef REGISTER_CPU_KERNEL
#undef REGISTER_EPILOGUE
#undef REGISTER_GRADIENT_SHAPES
#undef REGISTER_LOD_RULE
#undef REGISTER_LOD_ALSO
#undef REGISTER_OPEN_ATTRS
#undef REGISTER_POINTWISE
#define REGISTER_OPERATOR(...) static_assert(true)
#define REGISTER_CPU_KERNEL(...) static_assert(true)
#define REGISTER_EPILOGUE(...) static_assert(true)
#define REGISTER_GRADIENT_SHAPES(...) static_assert(true)
#define REGISTER_LOD_RULE(...) static_assert(true)
#define REGISTER_LOD_ALSO(...) static_assert(true)
#define REGISTER_OPEN_ATTRS(...) static_assert(true)
#define REGISTER_POINTWISE(...) static_assert(true)

namespace dygraph::cuda {

// The types of a list without the complex ones, whose arithmetic the C++ library has for the host
// alone: the host computes them.
template <class Kept, class... Ts>
struct RealOnes {
  using type = Kept;
};
template <class... Kept, class T, class... Ts>
struct RealOnes<Types<Kept...>, T, Ts...>
    : RealOnes<std::conditional_t<kIsComplex<T>, Types<Kept...>, Types<Kept..., T>>, Ts...> {};
template <class... Kept, class... Ts, class... More>
struct RealOnes<Types<Kept...>, Types<Ts...>, More...> : RealOnes<Types<Kept...>, Ts..., More...> {};

template <template <class> class K, class... Ts>
static KernelList KernelsFor() {
  return KernelsOf<K>(typename RealOnes<Types<>, Ts...>::type());
}

}  // namespace dygraph::cuda

#define REGISTER_ON_CUDA(name, type, kernel, ...)                                          \
  static ::dygraph::KernelRegistration name(                                                   \
      #type, ::dygraph::DeviceKind::kCUDA, ::dygraph::KernelLayout::kPlain,                    \
      ::dygraph::Library::kPlain, ::dygraph::cuda::KernelsFor<kernel, __VA_ARGS__>(), nullptr, \
      __FILE__, __LINE__)
#undef REGISTER_KERNELS
#undef REGISTER_DEVICE_TYPES
#define REGISTER_KERNELS(type, kernel, ...) \
  REGISTER_ON_CUDA(kernel_registration_##type, type, kernel, __VA_ARGS__)
#define REGISTER_DEVICE_TYPES(type, kernel, ...) \
  REGISTER_ON_CUDA(type_registration_##type, type, kernel, __VA_ARGS__)

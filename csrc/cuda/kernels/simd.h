// kernels/simd.h on the device: loops of one thread need no instruction sets.
#pragma once

#include <cstdint>

#include "base/marks.h"

#define DYGRAPH_IVDEP
#ifdef __CUDACC__
#define DYGRAPH_UNROLL _Pragma("unroll")
#else
#define DYGRAPH_UNROLL
#endif

namespace dygraph::kernels {

namespace detail {
template <class T>
constexpr bool kOnDevice = false;
}

// A loop of the host in a file that is compiled for the device: it would get device pointers.
template <class Body>
void Simd(const Body&) {
  static_assert(detail::kOnDevice<Body>,
                "a loop of the host: write it with Map, ForEach or Reduce");
}
template <class T, class Body>
void SimdFor(const Body&) {
  static_assert(detail::kOnDevice<Body>,
                "a loop of the host: write it with Map, ForEach or Reduce");
}

}  // namespace dygraph::kernels

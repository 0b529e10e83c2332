// kernels/parallel.h on the device: what a thread of the host should get has no meaning here, and
// the loops of the host are refused.
#pragma once

#include <cstdint>

#include "kernels/simd.h"

namespace dygraph {

template <class Body>
void ParallelFor(int64_t, int64_t, const Body&) {
  static_assert(kernels::detail::kOnDevice<Body>,
                "a loop of the host: write it with Map, ForEach or Reduce");
}
template <class Body>
void ParallelBlocks(int64_t, const Body&) {
  static_assert(kernels::detail::kOnDevice<Body>,
                "a loop of the host: write it with Map, ForEach or Reduce");
}

namespace kernels {

inline int64_t Grain(int64_t = 1) { return 1; }

template <class Body>
void ParallelRows(int64_t, int64_t, const Body&) {
  static_assert(detail::kOnDevice<Body>,
                "a loop of the host: write it with ForEach, ForEachRow or Reduce");
}

}  // namespace kernels
}  // namespace dygraph

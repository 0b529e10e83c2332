// What the threads of a block do together.
#pragma once

#include <cstdint>
#include <cstring>

#include "cuda/launch.h"
#include "kernels/simd.h"

namespace dygraph::kernels::detail {

constexpr int kWarp = 32;

// The value of the lane `step` further on in the warp, of any type that may be copied by bytes.
template <class T>
__device__ __forceinline__ T FromLane(const T& mine, int step) {
  constexpr int kWords = (sizeof(T) + 3) / 4;
  uint32_t words[kWords] = {};
  memcpy(words, &mine, sizeof(T));
  DYGRAPH_UNROLL
  for (int i = 0; i < kWords; ++i) words[i] = __shfl_xor_sync(0xffffffffu, words[i], step);
  T other;
  memcpy(&other, words, sizeof(T));
  return other;
}

// All lanes of each group of `width` neighbours, a power of two up to a warp, get the values of the
// group merged. The order depends on the width alone, and is the same for all lanes.
template <class T, class M>
__device__ __forceinline__ T MergeLanes(T mine, int width, const M& merge) {
  for (int step = 1; step < width; step *= 2) {
    const T other = FromLane(mine, step);
    mine = threadIdx.x & step ? merge(other, mine) : merge(mine, other);
  }
  return mine;
}

}  // namespace dygraph::kernels::detail

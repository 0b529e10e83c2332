// Walks over strided arrays as kernels take them: by value, from a position to offsets.
#pragma once

#include <cstdint>

#include "kernels/simd.h"
#include "kernels/strides.h"

namespace dygraph::kernels::detail {

// Division by a number that is known before the launch: a multiplication where the dividend has 31
// bits.
struct Divisor {
  int64_t by = 1;
  uint32_t factor = 1, shift = 0;

  Divisor() = default;
  explicit Divisor(int64_t number) : by(number) {
    if (by == 0 || by >> 31) return;  // nothing is walked, or divided below
    while (int64_t{1} << shift < by) ++shift;
    factor = static_cast<uint32_t>(((uint64_t{1} << 32) * ((uint64_t{1} << shift) - by)) / by + 1);
  }
  DYGRAPH_INLINE int64_t Quotient(int64_t n) const {
    if (n >> 31) return n / by;
    if (by >> 31) return 0;
    const uint32_t low = static_cast<uint32_t>(n);
    return (static_cast<uint32_t>((static_cast<uint64_t>(low) * factor) >> 32) + low) >> shift;
  }
};

template <int kArrays>
struct Steps {
  int rank = 0;
  Divisor dims[kMaxRank];
  int64_t strides[kArrays][kMaxRank] = {};

  Steps() = default;
  explicit Steps(const Walk<kArrays>& walk) : rank(walk.rank) {
    for (int i = 0; i < rank; ++i) {
      dims[i] = Divisor(walk.dims[i]);
      for (int a = 0; a < kArrays; ++a) strides[a][i] = walk.strides[a][i];
    }
  }
  // Where position i lies in each array.
  struct Offsets {
    int64_t of[kArrays];
  };
  DYGRAPH_INLINE Offsets At(int64_t i) const {
    Offsets at = {};
    for (int k = rank - 1; k > 0; --k) {
      const int64_t q = dims[k].Quotient(i), r = i - q * dims[k].by;
      for (int a = 0; a < kArrays; ++a) at.of[a] += r * strides[a][k];
      i = q;
    }
    for (int a = 0; a < kArrays && rank > 0; ++a) at.of[a] += i * strides[a][0];
    return at;
  }
};

}  // namespace dygraph::kernels::detail

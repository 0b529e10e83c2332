// Loops over functions of angles, which have two ways: F::Near where |x| <= kNearAngle, F::Far
// anywhere.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/math.h"
#include "kernels/parallel.h"
#include "kernels/simd.h"

namespace dygraph::kernels {

namespace detail {

// Largest |x| for which ReduceAngle keeps its accuracy.
constexpr float kNearAngle = 0x1p27f;
constexpr int64_t kAngleBlock = 256, kAngleCost = 4;

// Angles further out, infinities and NaNs are left to the library.
template <class F>
DYGRAPH_INLINE void AnglesOfBlock(const float* x, int64_t n, float* y) {
  uint32_t greatest = 0;
  for (int64_t i = 0; i < n; ++i) {
    greatest = std::max(greatest, FromBits<uint32_t>(x[i]) & 0x7FFFFFFFu);
  }
  for (int64_t i = 0; i < n; ++i) y[i] = F::Near(x[i]);
  if (greatest <= FromBits<uint32_t>(kNearAngle)) return;
  for (int64_t i = 0; i < n; ++i) {
    if (!(Abs(x[i]) <= kNearAngle)) y[i] = F::Far(x[i]);
  }
}

}  // namespace detail

// y[i] = F(x[i]); y may be x.
template <class F>
void MapAngles(const float* x, float* y, int64_t n) {
  ParallelFor(n, Grain(detail::kAngleCost), [=](int64_t begin, int64_t end) {
    Simd([=] {
      for (int64_t b = begin; b < end; b += detail::kAngleBlock) {
        int64_t count = std::min(detail::kAngleBlock, end - b);
        float found[detail::kAngleBlock];
        detail::AnglesOfBlock<F>(x + b, count, found);
        for (int64_t i = 0; i < count; ++i) y[b + i] = found[i];
      }
    });
  });
}

// y[i] = scale * g[i] * F(x[i]); y may be x or g.
template <class F>
void ZipAngles(const float* x, const float* g, float scale, float* y, int64_t n) {
  ParallelFor(n, Grain(detail::kAngleCost), [=](int64_t begin, int64_t end) {
    Simd([=] {
      for (int64_t b = begin; b < end; b += detail::kAngleBlock) {
        int64_t count = std::min(detail::kAngleBlock, end - b);
        float found[detail::kAngleBlock];
        detail::AnglesOfBlock<F>(x + b, count, found);
        DYGRAPH_IVDEP
        for (int64_t i = 0; i < count; ++i) y[b + i] = g[b + i] * (scale * found[i]);
      }
    });
  });
}

}  // namespace dygraph::kernels

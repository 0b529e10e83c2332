// kernels/angle_loops.h on the device.
#pragma once

#include <cstdint>

#include "kernels/elementwise.h"
#include "kernels/math.h"

namespace dygraph::kernels {

namespace detail {

constexpr float kNearAngle = 0x1p27f;

template <class F>
DYGRAPH_INLINE float OfAngle(float x) {
  return Abs(x) <= kNearAngle ? F::Near(x) : F::Far(x);
}

}  // namespace detail

// y[i] = F(x[i]); y may be x.
template <class F>
void MapAngles(const float* x, float* y, int64_t n) {
  Map(x, y, n, [] DYGRAPH_FN(float v) { return detail::OfAngle<F>(v); });
}

// y[i] = scale * g[i] * F(x[i]); y may be x or g.
template <class F>
void ZipAngles(const float* x, const float* g, float scale, float* y, int64_t n) {
  Zip(x, g, y, n, [=] DYGRAPH_FN(float v, float d) { return d * (scale * detail::OfAngle<F>(v)); });
}

}  // namespace dygraph::kernels

// operators/conv/grid_second.h on the device: a thread for each point. What a pixel gets from the
// points is added by one thread for each channel, in their order.
#pragma once

#include "cuda/launch.h"
#include "kernels/elementwise.h"
#include "operators/conv/grid_sampling.h"

namespace dygraph::grid_sampling {

template <class T>
struct SecondData {
  const T *x, *grid, *top, *v, *u;
  T *to_x, *to_grid, *to_top;
};

namespace detail {
// The directions of a point.
template <int kAxes, class T>
struct Along {
  double u[kAxes];
  DYGRAPH_INLINE Along(const T* from, int64_t at) {
    for (int a = 0; a < kAxes; ++a) u[a] = from ? static_cast<double>(from[at + a]) : 0;
  }
  DYGRAPH_INLINE double Dot(const double* d) const {
    double sum = 0;
    for (int a = 0; a < kAxes; ++a) sum += u[a] * d[a];
    return sum;
  }
};
}  // namespace detail

template <int kAxes, class T>
void SecondGradient(const Sampler<kAxes>& s, const SecondData<T>& t) {
  cuda::ForEach(s.n * s.points, [=] DYGRAPH_FN(int64_t i) {
    const int64_t n = i / s.points, p = i - n * s.points, size = s.size();
    const Spot<kAxes> spot = s.At(t.grid + i * kAxes);
    const detail::Along<kAxes, T> u(t.u, i * kAxes);
    double result[kAxes] = {};
    for (int64_t c = n * s.channels; c < (n + 1) * s.channels; ++c) {
      const double g = static_cast<double>(t.top[c * s.points + p]);
      double sum = 0;
      for (const auto& k : spot.corners) {
        if (k.at < 0) continue;
        const int64_t at = c * size + k.at;
        const double value = static_cast<double>(t.x[at]);
        const double v = t.v ? static_cast<double>(t.v[at]) : 0;
        for (int a = 0; a < kAxes; ++a) result[a] += g * (k.d[a] * v + u.Dot(k.dd[a]) * value);
        sum += k.weight * v + u.Dot(k.d) * value;
      }
      if (t.to_top) t.to_top[c * s.points + p] = static_cast<T>(sum);
    }
    for (int a = 0; t.to_grid && a < kAxes; ++a)
      t.to_grid[i * kAxes + a] = static_cast<T>(result[a]);
  });
  if (!t.to_x) return;
  kernels::Fill(t.to_x, s.n * s.channels * s.size(), T(0));
  cuda::ForEach(s.n * s.channels, [=] DYGRAPH_FN(int64_t c) {
    T* image = t.to_x + c * s.size();
    for (int64_t p = 0; p < s.points; ++p) {
      const int64_t point = (c / s.channels * s.points + p) * kAxes;
      const Spot<kAxes> spot = s.At(t.grid + point);
      const detail::Along<kAxes, T> u(t.u, point);
      const double g = static_cast<double>(t.top[c * s.points + p]);
      for (const auto& k : spot.corners) {
        if (k.at >= 0) image[k.at] += static_cast<T>(g * u.Dot(k.d));
      }
    }
  });
}

}  // namespace dygraph::grid_sampling

// The second gradient of grid_sampler.
#pragma once

#include "operators/conv/grid_points.h"

namespace dygraph::grid_sampling {

// What it reads and makes: v, u and the results may be nullptr.
template <class T>
struct SecondData {
  const T *x, *grid, *top, *v, *u;
  T *to_x, *to_grid, *to_top;
};

template <int kAxes, class T>
void SecondGradient(const Sampler<kAxes>& s, const SecondData<T>& t) {
  if (t.to_x) std::fill_n(t.to_x, s.n * s.channels * s.size(), T(0));
  int64_t size = s.size();
  ForPoints(s, t.grid, [=, &s](int64_t n, int64_t p, const Spot<kAxes>& spot) {
    int64_t point = (n * s.points + p) * kAxes;
    double u[kAxes] = {}, result[kAxes] = {};
    for (int a = 0; t.u && a < kAxes; ++a) u[a] = static_cast<double>(t.u[point + a]);
    for (int64_t c = n * s.channels; c < (n + 1) * s.channels; ++c) {
      double g = static_cast<double>(t.top[c * s.points + p]), sum = 0;
      for (const auto& k : spot.corners) {
        if (k.at < 0) continue;
        int64_t at = c * size + k.at;
        double value = static_cast<double>(t.x[at]), along = 0;
        double v = t.v ? static_cast<double>(t.v[at]) : 0;
        for (int a = 0; a < kAxes; ++a) {
          along += u[a] * k.d[a];
          double across = 0;
          for (int b = 0; b < kAxes; ++b) across += u[b] * k.dd[a][b];
          result[a] += g * (k.d[a] * v + across * value);
        }
        sum += k.weight * v + along * value;
        if (t.to_x) t.to_x[at] += static_cast<T>(g * along);
      }
      if (t.to_top) t.to_top[c * s.points + p] = static_cast<T>(sum);
    }
    for (int a = 0; t.to_grid && a < kAxes; ++a) t.to_grid[point + a] = static_cast<T>(result[a]);
  });
}

}  // namespace dygraph::grid_sampling

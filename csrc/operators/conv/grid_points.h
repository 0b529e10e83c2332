// Loops over the points of a grid.
#pragma once

#include "kernels/parallel.h"
#include "operators/conv/grid_sampling.h"

namespace dygraph::grid_sampling {

// Calls body(image, point, place) with the points of an image on one thread.
template <int kAxes, class T, class Body>
void ForPoints(const Sampler<kAxes>& s, const T* grid, const Body& body) {
  const int64_t work = s.points * (s.channels * Spot<kAxes>::kCorners + 10);
  kernels::ParallelRows(s.n, work, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t p = 0; p < s.points; ++p) body(i, p, s.At(grid + (i * s.points + p) * kAxes));
    }
  });
}

template <int kAxes, class T>
void Sample(const Sampler<kAxes>& s, const T* from, const T* grid, T* to) {
  const int64_t size = s.size();
  ForPoints(s, grid, [=, &s](int64_t n, int64_t p, const Spot<kAxes>& spot) {
    for (int64_t c = n * s.channels; c < (n + 1) * s.channels; ++c) {
      double sum = 0;
      for (const auto& k : spot.corners) {
        if (k.at >= 0) sum += k.weight * static_cast<double>(from[c * size + k.at]);
      }
      to[c * s.points + p] = static_cast<T>(sum);
    }
  });
}

// Either gradient may be null.
template <int kAxes, class T>
void SampleBackward(const Sampler<kAxes>& s, const T* from, const T* grid, const T* top, T* dx,
                    T* dgrid) {
  const int64_t size = s.size();
  if (dx) std::fill_n(dx, s.n * s.channels * size, T(0));
  ForPoints(s, grid, [=, &s](int64_t n, int64_t p, const Spot<kAxes>& spot) {
    double along[kAxes] = {};
    for (int64_t c = n * s.channels; c < (n + 1) * s.channels; ++c) {
      double g = static_cast<double>(top[c * s.points + p]);
      for (const auto& k : spot.corners) {
        if (k.at < 0) continue;
        int64_t at = c * size + k.at;
        if (dx) dx[at] += static_cast<T>(g * k.weight);
        double value = g * static_cast<double>(from[at]);
        for (int a = 0; a < kAxes; ++a) along[a] += k.d[a] * value;
      }
    }
    if (!dgrid) return;
    for (int a = 0; a < kAxes; ++a)
      dgrid[(n * s.points + p) * kAxes + a] = static_cast<T>(along[a]);
  });
}

}  // namespace dygraph::grid_sampling

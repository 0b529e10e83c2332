// operators/conv/grid_points.h on the device: a thread for each point. What a pixel gets from the
// points is added by one thread for each channel, in their order, or with FLAGS_cuda_atomics in
// any.
#pragma once

#include "cuda/launch.h"
#include "kernels/elementwise.h"
#include "operators/conv/grid_sampling.h"
#include "platform/device_flags.h"

namespace dygraph::grid_sampling {

template <int kAxes, class T>
void Sample(const Sampler<kAxes>& s, const T* from, const T* grid, T* to) {
  cuda::EachIndex(s.n * s.points, [=] DYGRAPH_FN(int64_t i) {
    const int64_t n = i / s.points, p = i - n * s.points, size = s.size();
    const Spot<kAxes> spot = s.At(grid + i * kAxes);
    for (int64_t c = n * s.channels; c < (n + 1) * s.channels; ++c) {
      double sum = 0;
      for (const auto& k : spot.corners) {
        if (k.at >= 0) sum += k.weight * static_cast<double>(from[c * size + k.at]);
      }
      to[c * s.points + p] = static_cast<T>(sum);
    }
  });
}

template <int kAxes, class T>
void SampleBackward(const Sampler<kAxes>& s, const T* from, const T* grid, const T* top, T* dx,
                    T* dgrid) {
  const bool atomics = FLAGS_cuda_atomics;
  if (dx) kernels::Fill(dx, s.n * s.channels * s.size(), T(0));
  if (dx && !atomics) {
    cuda::EachIndex(s.n * s.channels, [=] DYGRAPH_FN(int64_t c) {
      T* image = dx + c * s.size();
      for (int64_t p = 0; p < s.points; ++p) {
        const Spot<kAxes> spot = s.At(grid + (c / s.channels * s.points + p) * kAxes);
        const double g = static_cast<double>(top[c * s.points + p]);
        for (const auto& k : spot.corners) {
          if (k.at >= 0) image[k.at] += static_cast<T>(g * k.weight);
        }
      }
    });
  }
  if (!dgrid && !atomics) return;
  cuda::EachIndex(s.n * s.points, [=] DYGRAPH_FN(int64_t i) {
    const int64_t n = i / s.points, p = i - n * s.points, size = s.size();
    const Spot<kAxes> spot = s.At(grid + i * kAxes);
    double along[kAxes] = {};
    for (int64_t c = n * s.channels; c < (n + 1) * s.channels; ++c) {
      const double g = static_cast<double>(top[c * s.points + p]);
      for (const auto& k : spot.corners) {
        if (k.at < 0) continue;
        const int64_t at = c * size + k.at;
        if (atomics && dx) atomicAdd(&dx[at], static_cast<T>(g * k.weight));
        const double value = g * static_cast<double>(from[at]);
        for (int a = 0; a < kAxes; ++a) along[a] += k.d[a] * value;
      }
    }
    for (int a = 0; dgrid && a < kAxes; ++a) dgrid[i * kAxes + a] = static_cast<T>(along[a]);
  });
}

}  // namespace dygraph::grid_sampling

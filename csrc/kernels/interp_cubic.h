// Resampling of images along each axis by four neighbours, weighted by Keys' cubic convolution with
// a = -0.75 ("Cubic convolution interpolation for digital image processing", 1981), as OpenCV,
// PyTorch and Paddle have it. Neighbours beyond the border are the border.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/interp.h"
#include "kernels/parallel.h"

namespace dygraph::kernels {

// Output o is the sum of weight[4 * o + t] * input[from[4 * o + t]] over t < 4.
struct CubicAxis {
  int64_t in = 1;
  std::vector<int64_t> from;
  std::vector<double> weight;
  int64_t out() const { return static_cast<int64_t>(from.size()) / 4; }
};

inline CubicAxis MakeCubicAxis(int64_t in, int64_t out, bool corners, double step) {
  const CubicRule rule = CubicRule::Of(in, out, corners, step);
  CubicAxis axis;
  axis.in = in;
  for (int64_t o = 0; o < out; ++o) {
    const CubicSpot spot = rule.At(o);
    for (int t = 0; t < 4; ++t) {
      axis.from.push_back(spot.From(t));
      axis.weight.push_back(spot.weights[t]);
    }
  }
  return axis;
}

struct CubicShape {
  int64_t volumes = 0;
  CubicAxis h, w;
  int64_t In() const { return h.in * w.in; }
  int64_t Out() const { return h.out() * w.out(); }
};

template <class T>
void Interpolate(const T* x, const CubicShape& s, T* y) {
  ParallelRows(s.volumes, s.Out() * 12, [&](int64_t begin, int64_t end) {
    std::vector<T> line(s.w.in);
    std::vector<T> weights(s.w.weight.begin(), s.w.weight.end());
    for (int64_t v = begin; v < end; ++v) {
      const T* image = x + v * s.In();
      T* to = y + v * s.Out();
      for (int64_t i = 0; i < s.h.out(); ++i, to += s.w.out()) {
        const T* rows[4];
        T c[4];
        for (int t = 0; t < 4; ++t) {
          rows[t] = image + s.h.from[4 * i + t] * s.w.in;
          c[t] = static_cast<T>(s.h.weight[4 * i + t]);
        }
        for (int64_t j = 0; j < s.w.in; ++j)
          line[j] = c[0] * rows[0][j] + c[1] * rows[1][j] + c[2] * rows[2][j] + c[3] * rows[3][j];
        for (int64_t j = 0; j < s.w.out(); ++j) {
          const int64_t* at = &s.w.from[4 * j];
          const T* w = &weights[4 * j];
          to[j] = w[0] * line[at[0]] + w[1] * line[at[1]] + w[2] * line[at[2]] + w[3] * line[at[3]];
        }
      }
    }
  });
}

// The transpose of Interpolate as a linear map.
template <class T>
void InterpolateBackward(const T* dy, const CubicShape& s, T* dx) {
  std::fill_n(dx, s.volumes * s.In(), T(0));
  ParallelRows(s.volumes, s.Out() * 12, [&](int64_t begin, int64_t end) {
    std::vector<T> line(s.w.in);
    for (int64_t v = begin; v < end; ++v) {
      const T* from = dy + v * s.Out();
      for (int64_t i = 0; i < s.h.out(); ++i, from += s.w.out()) {
        std::fill(line.begin(), line.end(), T(0));
        for (int64_t k = 0; k < 4 * s.w.out(); ++k)
          line[s.w.from[k]] += static_cast<T>(s.w.weight[k]) * from[k / 4];
        for (int t = 0; t < 4; ++t) {
          T* to = dx + v * s.In() + s.h.from[4 * i + t] * s.w.in;
          T c = static_cast<T>(s.h.weight[4 * i + t]);
          for (int64_t j = 0; j < s.w.in; ++j) to[j] += c * line[j];
        }
      }
    }
  });
}

}  // namespace dygraph::kernels

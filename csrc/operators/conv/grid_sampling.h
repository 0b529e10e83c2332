// What the operators that sample an image at the places of a grid share.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/simd.h"
#include "op/op_registry.h"

namespace dygraph::grid_sampling {

constexpr int kX = 0, kGrid = 1, kOutput = 0;

struct GridSamplerAttrs {
  std::string mode = "bilinear";
  std::string padding_mode = "zeros";
  bool align_corners = true;
};

inline void CheckInputs(const Dims& x, const Dims& grid) {
  int axes = x.rank() - 2;
  ENFORCE(axes == 2 || axes == 3, InvalidArgument, "X must have 4 axes, NCHW, or 5, NCDHW, got ",
          "shape ", x);
  ENFORCE(grid.rank() == x.rank() && (grid.back() == axes || grid.back() < 0), InvalidArgument,
          "Grid must have shape ", axes == 2 ? "[N, H', W', 2]" : "[N, D', H', W', 3]", " for X ",
          x, ", got ", grid);
  ENFORCE(x[0] == grid[0] || !BothKnown(x[0], grid[0]), InvalidArgument,
          "X and Grid must have one number of images, got shapes ", x, " and ", grid);
}

inline Dims OutDims(const Dims& x, const Dims& grid) {
  CheckInputs(x, grid);
  Dims out = {x[0], x[1]};
  out.Append(grid.begin() + 1, grid.end() - 1);
  return out;
}

// How a number of Grid becomes a place along an axis.
struct Places {
  bool nearest, border, reflection, corners;
  explicit Places(const GridSamplerAttrs& a)
      : nearest(a.mode == "nearest"),
        border(a.padding_mode == "border"),
        reflection(a.padding_mode == "reflection"),
        corners(a.align_corners) {}

  // The place in pixels and its derivative; a place that is not a number, or far outside, has none.
  DYGRAPH_INLINE bool At(double g, int64_t size, double* at, double* slope) const {
    double n = static_cast<double>(size), last = n - 1;
    *slope = (corners ? last : n) / 2;
    double x = corners ? (g + 1) * *slope : ((g + 1) * n - 1) / 2;
    if (reflection) x = Mirrored(x, n, slope);
    if ((border || reflection) && (x < 0 || x > last)) {
      x = x < 0 ? 0 : last;
      *slope = 0;
    }
    *at = x;
    return x > -1 && x < n;
  }

 private:
  DYGRAPH_INLINE double Mirrored(double x, double n, double* slope) const {
    double first = corners ? 0 : -0.5, span = corners ? n - 1 : n, from = x - first;
    if (span == 0) return first;
    double rest = std::fmod(std::abs(from), 2 * span);
    if ((from < 0) != (rest > span)) *slope = -*slope;
    return first + (rest > span ? 2 * span - rest : rest);
  }
};

// The pixels around a place, weights and their derivatives in the units of Grid: x first.
template <int kAxes>
struct Spot {
  static constexpr int kCorners = 1 << kAxes;
  struct Corner {
    int64_t at = -1;  // in a channel; -1 outside
    double weight = 0, d[kAxes] = {}, dd[kAxes][kAxes] = {};  // dd: no two axes alike
  } corners[kCorners];
};

template <int kAxes>
struct Sampler {
  int64_t n, channels, sizes[kAxes], points = 1;  // sizes: of x, y, z
  Places places;
  Sampler(const Dims& x, const Dims& grid, const GridSamplerAttrs& a)
      : n(x[0]), channels(x[1]), places(a) {
    for (int k = 0; k < kAxes; ++k) {
      sizes[k] = x[kAxes + 1 - k];
      points *= grid[1 + k];
    }
  }
  DYGRAPH_INLINE int64_t size() const {
    int64_t product = 1;
    for (int64_t s : sizes) product *= s;
    return product;
  }

  template <class T>
  DYGRAPH_INLINE Spot<kAxes> At(const T* g) const {
    Spot<kAxes> p;
    double at[kAxes], slopes[kAxes];
    for (int k = 0; k < kAxes; ++k) {
      if (!places.At(static_cast<double>(g[k]), sizes[k], &at[k], &slopes[k])) return p;
    }
    if (places.nearest) {
      int64_t pixel = 0;
      for (int k = kAxes - 1; k >= 0; --k) {
        double i = std::round(at[k]);
        if (i < 0 || i >= static_cast<double>(sizes[k])) return p;
        pixel = pixel * sizes[k] + static_cast<int64_t>(i);
      }
      p.corners[0].at = pixel;
      p.corners[0].weight = 1;
      return p;
    }
    for (int c = 0; c < Spot<kAxes>::kCorners; ++c) {
      typename Spot<kAxes>::Corner& corner = p.corners[c];
      double w[kAxes], dw[kAxes];
      int64_t pixel = 0;
      bool inside = true;
      for (int k = kAxes - 1; k >= 0; --k) {
        int upper = c >> k & 1;
        double low = std::floor(at[k]), fraction = at[k] - low;
        int64_t i = static_cast<int64_t>(low) + upper;
        w[k] = upper ? fraction : 1 - fraction;
        dw[k] = upper ? slopes[k] : -slopes[k];
        inside = inside && i >= 0 && i < sizes[k];
        pixel = pixel * sizes[k] + i;
      }
      if (!inside) continue;
      corner.at = pixel;
      // The product of the weights, those of axes a and b (-1: none) being derivatives.
      auto product = [&](int a, int b) {
        double value = 1;
        for (int k = 0; k < kAxes; ++k) value *= k == a || k == b ? dw[k] : w[k];
        return value;
      };
      corner.weight = product(-1, -1);
      for (int a = 0; a < kAxes; ++a) {
        corner.d[a] = product(a, -1);
        for (int b = 0; b < kAxes; ++b) corner.dd[a][b] = a == b ? 0 : product(a, b);
      }
    }
    return p;
  }
};

// Calls run(sampler) with the sampler of the call.
template <class Run>
void WithSampler(KernelContext& ctx, const Run& run) {
  const Dims &x = ctx.In(kX).dims(), &grid = ctx.In(kGrid).dims();
  const GridSamplerAttrs& a = ctx.attrs<GridSamplerAttrs>();
  if (x.rank() == 4) return run(Sampler<2>(x, grid, a));
  run(Sampler<3>(x, grid, a));
}

}  // namespace dygraph::grid_sampling

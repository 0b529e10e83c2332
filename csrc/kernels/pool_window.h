// Where the windows of a pooling lie.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/pool_rule.h"

namespace dygraph::kernels {

// Along one axis output o covers [begin[o], end[o]) of the input, and an average divides by
// size[o].
struct PoolAxis {
  int64_t in = 0;
  std::vector<int64_t> begin, end, size;
  int64_t out() const { return static_cast<int64_t>(begin.size()); }
  void Resize(int64_t out) {
    for (std::vector<int64_t>* v : {&begin, &end, &size}) v->resize(out);
  }
};

inline PoolAxis MakePoolAxis(const PoolRule& rule) {
  PoolAxis axis;
  axis.in = rule.in;
  axis.Resize(rule.outputs);
  for (int64_t o = 0; o < rule.outputs; ++o) {
    const PoolSpan s = rule.At(o);
    axis.begin[o] = s.begin;
    axis.end[o] = s.end;
    axis.size[o] = s.size;
  }
  return axis;
}

// `exclusive`: an average does not count the padding.
inline PoolAxis SlidingWindows(int64_t in, int64_t out, int64_t kernel, int64_t stride,
                               int64_t padding, bool exclusive) {
  return MakePoolAxis({in, out, kernel, stride, padding, exclusive});
}
inline PoolAxis AdaptiveWindows(int64_t in, int64_t out) { return MakePoolAxis({in, out}); }

namespace detail {

constexpr int64_t kPoolTile = 256;  // outputs or channels worked on together

inline int64_t LongestWindow(const PoolAxis& axis) {
  int64_t most = 0;
  for (int64_t o = 0; o < axis.out(); ++o) {
    if (axis.begin[o] >= axis.end[o]) return 0;  // an empty one: the rows below cannot serve
    most = std::max(most, axis.end[o] - axis.begin[o]);
  }
  return most;
}

// Windows that lie side by side without gap, overlap or rest: every pixel is written once.
inline bool Tiles(const PoolAxis& axis) {
  int64_t size = axis.out() == 0 ? 0 : axis.in / axis.out();
  for (int64_t o = 0; o < axis.out(); ++o) {
    if (axis.begin[o] != o * size || axis.end[o] != (o + 1) * size) return false;
  }
  return size > 0 && size * axis.out() == axis.in;
}

}  // namespace detail

}  // namespace dygraph::kernels

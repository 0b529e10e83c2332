// Where the windows of a pooling lie.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

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

// `exclusive`: an average does not count the padding.
inline PoolAxis SlidingWindows(int64_t in, int64_t out, int64_t kernel, int64_t stride,
                               int64_t padding, bool exclusive) {
  PoolAxis axis;
  axis.in = in;
  axis.Resize(out);
  for (int64_t o = 0; o < out; ++o) {
    int64_t begin = o * stride - padding;
    int64_t end = std::min(begin + kernel, in);
    begin = std::min(std::max<int64_t>(begin, 0), in);
    axis.begin[o] = begin;
    axis.end[o] = std::max(begin, end);
    axis.size[o] = exclusive ? std::max<int64_t>(end - begin, 1) : kernel;
  }
  return axis;
}
inline PoolAxis AdaptiveWindows(int64_t in, int64_t out) {
  PoolAxis axis;
  axis.in = in;
  axis.Resize(out);
  for (int64_t o = 0; o < out; ++o) {
    axis.begin[o] = o * in / out;
    axis.end[o] = ((o + 1) * in + out - 1) / out;
    axis.size[o] = std::max<int64_t>(axis.end[o] - axis.begin[o], 1);
  }
  return axis;
}

// `images` planes of h.in x w.in pixels with `channels` values each: (n * c, 1) for NCHW, (n, c)
// for NHWC.
struct PoolShape {
  int64_t images, channels;
  PoolAxis h, w;
  int64_t InPixels() const { return h.in * w.in; }
  int64_t OutPixels() const { return h.out() * w.out(); }
};

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

// The patches of a convolution as a matrix, and back: one NCHW image (or one group of its
// channels), or one plane of outputs of an NCDHW volume.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/parallel.h"
#include "kernels/patch_shape.h"

namespace dygraph::kernels {

namespace detail {

// Outputs [first, last) of `out` read inside [0, size): o * stride + offset.
inline void InsideRange(int64_t out, int64_t stride, int64_t offset, int64_t size, int64_t* first,
                        int64_t* last) {
  *first = offset >= 0 ? 0 : std::min(out, (-offset + stride - 1) / stride);
  *last = size - offset <= 0 ? 0 : std::min(out, (size - offset + stride - 1) / stride);
  *last = std::max(*first, *last);
}

}  // namespace detail

// col [channels * taps, out_h * out_w] from x [channels, depth, height, width], the outputs at
// depth `od`; padding gives 0.
template <class T>
void Im2Col(const T* x, const Im2ColShape& s, T* col, int64_t od = 0) {
  int64_t oh = s.OutHeight(), ow = s.OutWidth();
  ParallelRows(s.channels * s.Taps(), oh * ow, [=](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      int64_t kw = r % s.kernel_w, kh = r / s.kernel_w % s.kernel_h, c = r / s.Taps();
      int64_t d =
          od * s.stride_d + r / (s.kernel_w * s.kernel_h) % s.kernel_d * s.dilation_d - s.front;
      bool outside = d < 0 || d >= s.depth;
      int64_t dx = kw * s.dilation_w - s.left, first, last;
      detail::InsideRange(ow, s.stride_w, dx, s.width, &first, &last);
      T* to = col + r * oh * ow;
      for (int64_t i = 0; i < oh; ++i, to += ow) {
        int64_t h = i * s.stride_h + kh * s.dilation_h - s.top;
        if (outside || h < 0 || h >= s.height) {
          std::fill(to, to + ow, T(0));
          continue;
        }
        const T* from = x + ((c * s.depth + d) * s.height + h) * s.width + dx;
        std::fill(to, to + first, T(0));
        if (s.stride_w == 1) {
          std::memcpy(to + first, from + first, (last - first) * sizeof(T));
        } else {
          for (int64_t j = first; j < last; ++j) to[j] = from[j * s.stride_w];
        }
        std::fill(to + last, to + ow, T(0));
      }
    }
  });
}

// x gets the sums of what Im2Col copied from each place, from outputs at depth 0 first: these clear
// it.
template <class T>
void Col2Im(const T* col, const Im2ColShape& s, T* x, int64_t od = 0) {
  int64_t oh = s.OutHeight(), ow = s.OutWidth(), taps = s.Taps();
  int64_t size = s.depth * s.height * s.width;
  ParallelRows(s.channels, taps * oh * ow, [=](int64_t begin, int64_t end) {
    if (od == 0) std::fill(x + begin * size, x + end * size, T(0));
    for (int64_t r = begin * taps; r < end * taps; ++r) {
      int64_t kw = r % s.kernel_w, kh = r / s.kernel_w % s.kernel_h, c = r / taps;
      int64_t d =
          od * s.stride_d + r / (s.kernel_w * s.kernel_h) % s.kernel_d * s.dilation_d - s.front;
      if (d < 0 || d >= s.depth) continue;
      int64_t dx = kw * s.dilation_w - s.left, first, last;
      detail::InsideRange(ow, s.stride_w, dx, s.width, &first, &last);
      const T* from = col + r * oh * ow;
      for (int64_t i = 0; i < oh; ++i, from += ow) {
        int64_t h = i * s.stride_h + kh * s.dilation_h - s.top;
        if (h < 0 || h >= s.height) continue;
        T* to = x + ((c * s.depth + d) * s.height + h) * s.width + dx;
        if (s.stride_w == 1) {
          for (int64_t j = first; j < last; ++j) to[j] += from[j];
        } else {
          for (int64_t j = first; j < last; ++j) to[j * s.stride_w] += from[j];
        }
      }
    }
  });
}

// The same for n images, whose matrices follow one another: [n, channels * taps, outputs].
template <class T>
void Im2ColImages(const T* x, const Im2ColShape& s, int64_t n, T* col) {
  const int64_t in = s.channels * s.height * s.width;
  const int64_t out = s.channels * s.Taps() * s.OutHeight() * s.OutWidth();
  for (int64_t i = 0; i < n; ++i) Im2Col(x + i * in, s, col + i * out);
}
template <class T>
void Col2ImImages(const T* col, const Im2ColShape& s, int64_t n, T* x) {
  const int64_t in = s.channels * s.height * s.width;
  const int64_t out = s.channels * s.Taps() * s.OutHeight() * s.OutWidth();
  for (int64_t i = 0; i < n; ++i) Col2Im(col + i * out, s, x + i * in);
}

}  // namespace dygraph::kernels

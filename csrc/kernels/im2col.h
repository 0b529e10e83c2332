// The patches of a convolution as a matrix, and back: one NCHW image (or one group of its
// channels), or one plane of outputs of an NCDHW volume.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/parallel.h"

namespace dygraph::kernels {

struct Im2ColShape {
  int64_t channels, height, width;
  int64_t kernel_h, kernel_w;
  int64_t stride_h = 1, stride_w = 1;
  int64_t top = 0, bottom = 0, left = 0, right = 0;
  int64_t dilation_h = 1, dilation_w = 1;
  int64_t depth = 1, kernel_d = 1, stride_d = 1, front = 0, back = 0, dilation_d = 1;
  int64_t Taps() const { return kernel_d * kernel_h * kernel_w; }
  int64_t OutDepth() const {
    return (depth + front + back - (dilation_d * (kernel_d - 1) + 1)) / stride_d + 1;
  }
  int64_t OutHeight() const {
    return (height + top + bottom - (dilation_h * (kernel_h - 1) + 1)) / stride_h + 1;
  }
  int64_t OutWidth() const {
    return (width + left + right - (dilation_w * (kernel_w - 1) + 1)) / stride_w + 1;
  }
};

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

}  // namespace dygraph::kernels

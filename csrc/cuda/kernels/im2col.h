// kernels/im2col.h on the device: a thread for each copied element, or for each pixel, which adds
// up in the order of the taps.
#pragma once

#include <cstdint>

#include "cuda/launch.h"
#include "kernels/patch_shape.h"
#include "kernels/simd.h"

namespace dygraph::kernels {

template <class T>
void Im2ColImages(const T* x, const Im2ColShape& s, int64_t n, T* col) {
  const int64_t oh = s.OutHeight(), ow = s.OutWidth();
  cuda::EachIndex(n * s.channels * s.Taps() * oh * ow, [=] DYGRAPH_FN(int64_t i) {
    const int64_t row = i / (oh * ow), j = i % ow, c = row / (s.kernel_h * s.kernel_w);
    const int64_t h =
        i / ow % oh * s.stride_h + row / s.kernel_w % s.kernel_h * s.dilation_h - s.top;
    const int64_t w = j * s.stride_w + row % s.kernel_w * s.dilation_w - s.left;
    const bool inside = h >= 0 && h < s.height && w >= 0 && w < s.width;
    col[i] = inside ? x[(c * s.height + h) * s.width + w] : T(0);
  });
}

template <class T>
void Col2ImImages(const T* col, const Im2ColShape& s, int64_t n, T* x) {
  const int64_t oh = s.OutHeight(), ow = s.OutWidth();
  cuda::EachIndex(n * s.channels * s.height * s.width, [=] DYGRAPH_FN(int64_t i) {
    const int64_t w = i % s.width, h = i / s.width % s.height, c = i / (s.width * s.height);
    T sum = 0;
    for (int64_t kh = 0; kh < s.kernel_h; ++kh) {
      const int64_t above = h + s.top - kh * s.dilation_h, row = above / s.stride_h;
      if (above < 0 || above % s.stride_h != 0 || row >= oh) continue;
      for (int64_t kw = 0; kw < s.kernel_w; ++kw) {
        const int64_t before = w + s.left - kw * s.dilation_w, column = before / s.stride_w;
        if (before < 0 || before % s.stride_w != 0 || column >= ow) continue;
        sum += col[(((c * s.kernel_h + kh) * s.kernel_w + kw) * oh + row) * ow + column];
      }
    }
    x[i] = sum;
  });
}

}  // namespace dygraph::kernels

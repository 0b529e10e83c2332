// operators/conv/window_rows.h on the device: a thread for each number.
#pragma once

#include "kernels/loops.h"
#include "kernels/table.h"
#include "operators/conv/patches.h"

namespace dygraph::patches {

namespace detail {
// The windows of an image, from row `row` on.
struct ImageRows {
  int64_t row, h, w;
};
inline std::vector<ImageRows> RowsOf(const std::vector<Count>& counts) {
  std::vector<ImageRows> images;
  int64_t row = 0;
  for (const Count& c : counts) {
    images.push_back({row, c.h, c.w});
    row += c.h * c.w;
  }
  return images;
}
}  // namespace detail

// Each row of `to` is a window of x: channels first, then the taps.
template <class T>
void WindowsToRows(KernelContext&, const Geometry& g, const std::vector<Count>& counts, const T* x,
                   T* to) {
  const kernels::Im2ColShape s = g.Shape();
  const int64_t taps = g.Taps(), most = g.Count();
  kernels::Table<detail::ImageRows> table(detail::RowsOf(counts));
  const detail::ImageRows* images = table.data();
  kernels::ForEach(g.n * most * taps, [=] DYGRAPH_FN(int64_t i) {
    const int64_t tap = i % taps, window = i / taps % most, n = i / taps / most;
    const detail::ImageRows image = images[n];
    if (window >= image.h * image.w) return;
    const int64_t c = tap / (s.kernel_h * s.kernel_w);
    const int64_t h = window / image.w * s.stride_h + tap / s.kernel_w % s.kernel_h - s.top;
    const int64_t w = window % image.w * s.stride_w + tap % s.kernel_w - s.left;
    const bool inside = h >= 0 && h < s.height && w >= 0 && w < s.width;
    to[(image.row + window) * taps + tap] =
        inside ? x[((n * s.channels + c) * s.height + h) * s.width + w] : T(0);
  });
}

// x gets the sums of the rows where they were cut out.
template <class T>
void RowsToWindows(KernelContext&, const Geometry& g, const std::vector<Count>& counts,
                   const T* rows, T* x) {
  const kernels::Im2ColShape s = g.Shape();
  const int64_t taps = g.Taps();
  kernels::Table<detail::ImageRows> table(detail::RowsOf(counts));
  const detail::ImageRows* images = table.data();
  kernels::ForEach(g.n * s.channels * s.height * s.width, [=] DYGRAPH_FN(int64_t i) {
    const int64_t w = i % s.width, h = i / s.width % s.height, plane = i / (s.width * s.height);
    const int64_t c = plane % s.channels;
    const detail::ImageRows image = images[plane / s.channels];
    T sum = 0;
    for (int64_t kh = 0; kh < s.kernel_h; ++kh) {
      const int64_t above = h + s.top - kh, row = above / s.stride_h;
      if (above < 0 || above % s.stride_h != 0 || row >= image.h) continue;
      for (int64_t kw = 0; kw < s.kernel_w; ++kw) {
        const int64_t before = w + s.left - kw, column = before / s.stride_w;
        if (before < 0 || before % s.stride_w != 0 || column >= image.w) continue;
        const int64_t tap = (c * s.kernel_h + kh) * s.kernel_w + kw;
        sum += rows[(image.row + row * image.w + column) * taps + tap];
      }
    }
    x[i] = sum;
  });
}

}  // namespace dygraph::patches

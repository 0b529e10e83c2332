// A loop over numbers that have one scale for each channel.
#pragma once

#include <vector>

#include "kernels/elementwise.h"
#include "operators/quantize/channels.h"

namespace dygraph::quantize {

// y = f(x, the scale of its channel). Short channels go along the rows, many at once.
template <class T, class F>
void MapChannels(const T* x, T* y, const Channels& c, const T* scales, F f) {
  constexpr int64_t kShort = 16;
  if (c.inner >= kShort || c.outer == 1) {
    return kernels::ParallelRows(c.outer * c.count, c.inner * 4, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T scale = scales[i % c.count];
        kernels::Map(
            x + i * c.inner, y + i * c.inner, c.inner, [=](T v) { return f(v, scale); }, 4);
      }
    });
  }
  const int64_t width = c.count * c.inner;
  std::vector<T> row(width);
  for (int64_t j = 0; j < width; ++j) row[j] = scales[j / c.inner];
  const T* by = row.data();
  kernels::ParallelRows(c.outer, width * 4, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      kernels::Zip(x + i * width, by, y + i * width, width, f, 4);
  });
}

}  // namespace dygraph::quantize

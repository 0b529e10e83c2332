// The loops of conv_shift: rows of a ring of m numbers convolved with n numbers each.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/parallel.h"

namespace dygraph::conv_shift {

namespace detail {
// Calls f(row, i, j, place in the ring) for all of rows [begin, end).
template <class F>
void ForEach(int64_t m, int64_t n, int64_t begin, int64_t end, F f) {
  for (int64_t b = begin; b < end; ++b) {
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) f(b, i, j, (i + j - (n - 1) / 2 + m) % m);
    }
  }
}
}  // namespace detail

// to[b, i] = sum over j of x[b, i + j - (n - 1) / 2] * y[b, j].
template <class T>
void Forward(const T* x, const T* y, int64_t rows, int64_t m, int64_t n, T* to) {
  kernels::ParallelRows(rows, m * n * 4, [=](int64_t begin, int64_t end) {
    std::fill(to + begin * m, to + end * m, T(0));
    detail::ForEach(m, n, begin, end, [=](int64_t b, int64_t i, int64_t j, int64_t at) {
      to[b * m + i] += x[b * m + at] * y[b * n + j];
    });
  });
}

// Either result may be null; the other factor then is not read.
template <class T>
void Backward(const T* x, const T* y, const T* arrived, int64_t rows, int64_t m, int64_t n, T* dx,
              T* dy) {
  kernels::ParallelRows(rows, m * n * 8, [=](int64_t begin, int64_t end) {
    if (dx) std::fill(dx + begin * m, dx + end * m, T(0));
    if (dy) std::fill(dy + begin * n, dy + end * n, T(0));
    detail::ForEach(m, n, begin, end, [=](int64_t b, int64_t i, int64_t j, int64_t at) {
      const T v = arrived[b * m + i];
      if (dx) dx[b * m + at] += v * y[b * n + j];
      if (dy) dy[b * n + j] += v * x[b * m + at];
    });
  });
}

}  // namespace dygraph::conv_shift

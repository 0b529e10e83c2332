// operators/linear/conv_shift_loops.h on the device: a thread for each result.
#pragma once

#include <cstdint>

#include "kernels/pairs.h"

namespace dygraph::conv_shift {

template <class T>
void Forward(const T* x, const T* y, int64_t rows, int64_t m, int64_t n, T* to) {
  kernels::ForEachPair(rows, m, [=] DYGRAPH_FN(int64_t b, int64_t i) {
    T sum = 0;
    for (int64_t j = 0; j < n; ++j) sum += x[b * m + (i + j - (n - 1) / 2 + m) % m] * y[b * n + j];
    to[b * m + i] = sum;
  });
}

template <class T>
void Backward(const T* x, const T* y, const T* arrived, int64_t rows, int64_t m, int64_t n, T* dx,
              T* dy) {
  if (dx) {
    kernels::ForEachPair(rows, m, [=] DYGRAPH_FN(int64_t b, int64_t at) {
      T sum = 0;
      for (int64_t j = 0; j < n; ++j)
        sum += arrived[b * m + (at - j + (n - 1) / 2 + m) % m] * y[b * n + j];
      dx[b * m + at] = sum;
    });
  }
  if (dy) {
    kernels::ForEachPair(rows, n, [=] DYGRAPH_FN(int64_t b, int64_t j) {
      T sum = 0;
      for (int64_t i = 0; i < m; ++i)
        sum += arrived[b * m + i] * x[b * m + (i + j - (n - 1) / 2 + m) % m];
      dy[b * n + j] = sum;
    });
  }
}

}  // namespace dygraph::conv_shift

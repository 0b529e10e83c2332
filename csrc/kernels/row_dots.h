// Dot products of rows.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/parallel.h"

namespace dygraph::kernels {

// finish(r, begin(r) + the sum of a[r * a_row + i] * b[r * b_row + i] over i < n) for every row, in
// double. A row may be 0 apart from the next: all are one.
template <class T, class Begin, class Finish>
void RowDots(const T* a, int64_t a_row, const T* b, int64_t b_row, int64_t rows, int64_t n,
             Begin begin, Finish finish) {
  for (int64_t r = 0; r < rows; ++r) {
    double sum = begin(r);
    for (int64_t i = 0; i < n; ++i)
      sum += static_cast<double>(a[r * a_row + i]) * static_cast<double>(b[r * b_row + i]);
    finish(r, sum);
  }
}

// to[r] = the sum of a[r * n + i] * b[r * n + i]; integers wrap.
template <class T>
void Dots(const T* a, const T* b, int64_t rows, int64_t n, T* to) {
  using Sum = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;
  ParallelRows(rows, n, [=](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      Sum lanes[8] = {};
      int64_t i = 0;
      for (; i + 8 <= n; i += 8) {
        for (int k = 0; k < 8; ++k)
          lanes[k] += static_cast<Sum>(a[r * n + i + k]) * static_cast<Sum>(b[r * n + i + k]);
      }
      for (; i < n; ++i)
        lanes[0] += static_cast<Sum>(a[r * n + i]) * static_cast<Sum>(b[r * n + i]);
      Sum total = 0;
      for (Sum lane : lanes) total += lane;
      to[r] = static_cast<T>(total);
    }
  });
}

}  // namespace dygraph::kernels

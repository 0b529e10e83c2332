// Loops whose elements are added to places that may repeat.
#pragma once

#include <cstdint>

#include "platform/interrupt.h"

namespace dygraph::kernels {

// f(i) for every i in [0, n), in order; it adds by AddAt alone. Devices have no order: sums of
// integers, and of single numbers, are the same in each.
template <class F>
void ForEachAdding(int64_t n, F f) {
  InPieces(n, int64_t{1} << 20, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i);
  });
}
// The same for f(r, j), j in [0, n), of every row r in [0, rows).
template <class F>
void ForEachAdding(int64_t rows, int64_t n, F f) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t j = 0; j < n; ++j) f(r, j);
  }
}

template <class T>
inline void AddAt(T* to, T v) {
  *to += v;
}

}  // namespace dygraph::kernels

// Copies that permute the dimensions of a dense array.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/span.h"
#include "kernels/simd.h"

namespace dygraph::kernels {

namespace detail {

// Interleaves the elements of two 16-byte vectors, low or high halves; all instruction sets have
// it.
template <class T, class V>
DYGRAPH_INLINE V Interleave(V a, V b, bool high) {
  constexpr int n = 16 / sizeof(T);
  V r;
  if constexpr (n == 2) {
    typedef T M __attribute__((vector_size(16)));
    r = high ? __builtin_shuffle(a, b, M{1, 3}) : __builtin_shuffle(a, b, M{0, 2});
  } else if constexpr (n == 4) {
    typedef T M __attribute__((vector_size(16)));
    r = high ? __builtin_shuffle(a, b, M{2, 6, 3, 7}) : __builtin_shuffle(a, b, M{0, 4, 1, 5});
  } else if constexpr (n == 8) {
    typedef T M __attribute__((vector_size(16)));
    r = high ? __builtin_shuffle(a, b, M{4, 12, 5, 13, 6, 14, 7, 15})
             : __builtin_shuffle(a, b, M{0, 8, 1, 9, 2, 10, 3, 11});
  } else {
    typedef T M __attribute__((vector_size(16)));
    r = high ? __builtin_shuffle(a, b,
                                 M{8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31})
             : __builtin_shuffle(a, b, M{0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23});
  }
  return r;
}

// y[j * ys + i] = x[i * xs + j] for i, j < 16 / sizeof(T): log2 rounds of interleaving.
template <class T>
DYGRAPH_INLINE void TransposeTile(const T* x, int64_t xs, T* y, int64_t ys) {
  typedef T V __attribute__((vector_size(16)));
  constexpr int n = 16 / sizeof(T);
  V v[n], w[n];
  for (int i = 0; i < n; ++i) std::memcpy(&v[i], x + i * xs, 16);
  for (int round = 1; round < n; round *= 2) {
    for (int i = 0; i < n / 2; ++i) {
      w[2 * i] = Interleave<T>(v[i], v[i + n / 2], false);
      w[2 * i + 1] = Interleave<T>(v[i], v[i + n / 2], true);
    }
    for (int i = 0; i < n; ++i) v[i] = w[i];
  }
  for (int i = 0; i < n; ++i) std::memcpy(y + i * ys, &v[i], 16);
}

// y[j * ys + i] = x[i * xs + j], i < rows, j < columns.
template <class T>
DYGRAPH_INLINE void TransposeBlock(const T* x, int64_t xs, T* y, int64_t ys, int64_t rows,
                                   int64_t columns) {
  constexpr int64_t n = 16 / sizeof(T);
  int64_t i = 0;
  for (; i + n <= rows; i += n) {
    int64_t j = 0;
    for (; j + n <= columns; j += n) TransposeTile(x + i * xs + j, xs, y + j * ys + i, ys);
    for (; j < columns; ++j) {
      for (int64_t k = i; k < i + n; ++k) y[j * ys + k] = x[k * xs + j];
    }
  }
  for (; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) y[j * ys + i] = x[i * xs + j];
  }
}

}  // namespace detail

// y, dense of shape (dims[perm[0]], dims[perm[1]], ...), gets the elements of x, dense of shape
// `dims`. Elements are 1, 2, 4, 8 or 16 bytes.
void Permute(const void* x, Span<const int64_t> dims, Span<const int> perm, void* y,
             size_t element_size);

// [n, c, hw] to [n, hw, c] and back; hw may be a product of any number of dimensions.
void NchwToNhwc(const void* x, int64_t n, int64_t c, int64_t hw, void* y, size_t element_size);
void NhwcToNchw(const void* x, int64_t n, int64_t c, int64_t hw, void* y, size_t element_size);

}  // namespace dygraph::kernels

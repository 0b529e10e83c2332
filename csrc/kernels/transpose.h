// Copies that permute the dimensions of a dense array.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/even_rows.h"
#include "kernels/parallel.h"
#include "kernels/simd.h"
#include "kernels/strides.h"

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

// Array 0: x, array 1: y; the last dimension is the innermost of y.
template <class T>
void PermuteWalk(const Walk<2>& walk, const T* x, T* y) {
  if (walk.rank == 0) {
    *y = *x;
    return;
  }
  int last = walk.rank - 1;
  int64_t n = walk.dims[last], step = walk.strides[0][last];
  if (step == 1) {  // rows stay whole
    if (walk.rank == 1) {
      ParallelFor(n, Grain(),
                  [=](int64_t b, int64_t e) { std::memcpy(y + b, x + b, (e - b) * sizeof(T)); });
      return;
    }
    return CopyDenseRows(walk, x, y);
  }
  int unit = -1;  // the dimension that is innermost in x
  for (int i = 0; i < last; ++i) {
    if (walk.strides[0][i] == 1) unit = i;
  }
  if (unit < 0) {  // none: x is itself a strided view
    ParallelRows(walk.Count(0, last), n, [&](int64_t begin, int64_t end) {
      Odometer<2> at(walk, last, begin);
      for (int64_t r = begin; r < end; ++r, at.Next()) {
        for (int64_t i = 0; i < n; ++i) y[at.offset[1] + i] = x[at.offset[0] + i * step];
      }
    });
    return;
  }
  // Matrices of n rows and m columns in x, in blocks that stay in the first cache.
  Walk<2> outer;
  for (int i = 0; i < last; ++i) {
    if (i != unit) outer.Push(walk.dims[i], {walk.strides[0][i], walk.strides[1][i]});
  }
  int64_t m = walk.dims[unit], ys = walk.strides[1][unit];
  constexpr int64_t kBlock = 64;
  int64_t row_blocks = (n + kBlock - 1) / kBlock, column_blocks = (m + kBlock - 1) / kBlock;
  int64_t blocks = row_blocks * column_blocks;
  const Walk<2>* w = &outer;
  ParallelRows(outer.Count(0, outer.rank) * blocks, std::min(n, kBlock) * std::min(m, kBlock),
               [=](int64_t begin, int64_t end) {
                 Simd([=] {
                   Odometer<2> at(*w, w->rank, begin / blocks);
                   int64_t b = begin % blocks;
                   for (int64_t t = begin; t < end; ++t) {
                     int64_t i = b % row_blocks * kBlock, j = b / row_blocks * kBlock;
                     TransposeBlock(x + at.offset[0] + i * step + j, step,
                                    y + at.offset[1] + j * ys + i, ys, std::min(kBlock, n - i),
                                    std::min(kBlock, m - j));
                     if (++b == blocks) {
                       b = 0;
                       at.Next();
                     }
                   }
                 });
               });
}

}  // namespace detail

// y, dense of shape (dims[perm[0]], dims[perm[1]], ...), gets the elements of x, dense of shape
// `dims`. Elements are 1, 2, 4 or 8 bytes.
inline void Permute(const void* x, Span<const int64_t> dims, Span<const int> perm, void* y,
                    size_t element_size) {
  int rank = static_cast<int>(dims.size());
  ENFORCE(rank <= kMaxRank, InvalidArgument, "the rank must be at most ", kMaxRank, ", got ", rank);
  FixedArray<int64_t, kMaxRank> x_strides, y_strides;
  int64_t x_stride = 1, y_stride = 1;
  for (int i = rank - 1; i >= 0; --i) {
    x_strides[i] = x_stride;
    y_strides[i] = y_stride;
    x_stride *= dims[i];
    y_stride *= dims[perm[i]];
  }
  if (x_stride == 0) return;
  Walk<2> walk;
  for (int i = 0; i < rank; ++i) walk.Push(dims[perm[i]], {x_strides[perm[i]], y_strides[i]});
  switch (element_size) {
    case 1:
      return detail::PermuteWalk(walk, static_cast<const uint8_t*>(x), static_cast<uint8_t*>(y));
    case 2:
      return detail::PermuteWalk(walk, static_cast<const uint16_t*>(x), static_cast<uint16_t*>(y));
    case 4:
      return detail::PermuteWalk(walk, static_cast<const uint32_t*>(x), static_cast<uint32_t*>(y));
    case 8:
      return detail::PermuteWalk(walk, static_cast<const uint64_t*>(x), static_cast<uint64_t*>(y));
    default: THROW(InvalidArgument, "elements must be of 1, 2, 4 or 8 bytes, got ", element_size);
  }
}

// [n, c, hw] to [n, hw, c] and back; hw may be a product of any number of dimensions.
inline void NchwToNhwc(const void* x, int64_t n, int64_t c, int64_t hw, void* y,
                       size_t element_size) {
  const int64_t dims[] = {n, c, hw};
  const int perm[] = {0, 2, 1};
  Permute(x, {dims, 3}, {perm, 3}, y, element_size);
}
inline void NhwcToNchw(const void* x, int64_t n, int64_t c, int64_t hw, void* y,
                       size_t element_size) {
  const int64_t dims[] = {n, hw, c};
  const int perm[] = {0, 2, 1};
  Permute(x, {dims, 3}, {perm, 3}, y, element_size);
}

}  // namespace dygraph::kernels

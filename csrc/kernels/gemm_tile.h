// The register tiles of a matrix product: GCC vectors, one size per instruction set, and the panels
// they read. For gemm.cc and packed_weights.cc.
#pragma once

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "kernels/simd.h"
#include "kernels/transpose.h"

namespace dygraph::kernels::tile {

template <class T, int kBytes>
struct VecOf {
  typedef T type __attribute__((vector_size(kBytes)));
};

// Rows and vectors of a packed tile, and the bytes of a vector.
struct TileV4 {
  static constexpr int kBytes = 64, kRows = 12, kVecs = 2, kDirectRows = 8;
};
struct TileV3 {
  static constexpr int kBytes = 32, kRows = 6, kVecs = 2, kDirectRows = 4;
};
struct TileBase {
  static constexpr int kBytes = 16, kRows = 4, kVecs = 2, kDirectRows = 4;
};

template <class T, class Tile>
constexpr int64_t kColumnsOf = Tile::kVecs * Tile::kBytes / static_cast<int>(sizeof(T));

// acc[i][v] = sum over p of a(i, p) * b(p, vector v).
template <class T, int kBytes, int kRows, int kVecs>
DYGRAPH_INLINE void Multiply(int64_t k, const T* a, int64_t a_row, int64_t a_column, const T* b,
                             int64_t b_row, typename VecOf<T, kBytes>::type (&acc)[kRows][kVecs]) {
  using Vec = typename VecOf<T, kBytes>::type;
  constexpr int kLanes = kBytes / sizeof(T);
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
    for (int v = 0; v < kVecs; ++v) acc[i][v] = Vec{};
  }
  for (int64_t p = 0; p < k; ++p) {
    Vec row[kVecs];
#pragma GCC unroll 8
    for (int v = 0; v < kVecs; ++v) std::memcpy(&row[v], b + v * kLanes, kBytes);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      T x = a[i * a_row];
#pragma GCC unroll 8
      for (int v = 0; v < kVecs; ++v) acc[i][v] += x * row[v];
    }
    a += a_column;
    b += b_row;
  }
}

template <class T, int kBytes, int kRows, int kVecs>
DYGRAPH_INLINE void Store(const typename VecOf<T, kBytes>::type (&acc)[kRows][kVecs], T alpha,
                          T beta, T* c, int64_t ldc) {
  using Vec = typename VecOf<T, kBytes>::type;
  constexpr int kLanes = kBytes / sizeof(T);
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
    for (int v = 0; v < kVecs; ++v) {
      Vec value = alpha * acc[i][v];
      T* to = c + i * ldc + v * kLanes;
      if (beta != T(0)) {
        Vec old;
        std::memcpy(&old, to, kBytes);
        value += beta * old;
      }
      std::memcpy(to, &value, kBytes);
    }
  }
}

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

// to[p * kWidth + i] = x(i, p) for i < count, p < k; zeros for the other i.
template <class T, int kWidth>
DYGRAPH_INLINE void PackPanel(const T* x, int64_t i_stride, int64_t p_stride, int64_t count,
                              int64_t k, T* to) {
  if (i_stride == 1 && count == kWidth) {
    for (int64_t p = 0; p < k; ++p)
      std::memcpy(to + p * kWidth, x + p * p_stride, kWidth * sizeof(T));
    return;
  }
  if (count < kWidth) std::fill(to, to + k * kWidth, T(0));
  if (p_stride == 1) {
    typedef BitsOf<T> Bits __attribute__((may_alias));
    detail::TransposeBlock(reinterpret_cast<const Bits*>(x), i_stride, reinterpret_cast<Bits*>(to),
                           kWidth, count, k);
    return;
  }
  for (int64_t p = 0; p < k; ++p) {
    for (int64_t i = 0; i < count; ++i) to[p * kWidth + i] = x[i * i_stride + p * p_stride];
  }
}

// Runs body(tile) compiled for the instruction set of the tile; a level as CpuLevel gives it.
template <class Body>
void WithTile(int level, const Body& body) {
#if DYGRAPH_X86
  if (level >= 4) return RunV4([body] { body(TileV4()); });
  if (level >= 3) return RunV3([body] { body(TileV3()); });
#endif
  RunBase([body] { body(TileBase()); });
}

}  // namespace dygraph::kernels::tile

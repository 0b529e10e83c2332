#include "kernels/even_rows.h"

#include <algorithm>
#include <cstring>

#include "kernels/parallel.h"
#include "kernels/simd.h"
#include "tensor/dtype.h"

namespace dygraph::kernels {

template <class T>
void CopyEvenRows(const T* x, int64_t xs, T* y, int64_t ys, int64_t rows, int64_t n) {
  constexpr int64_t kLine = 64, kChunk = kLine / sizeof(T), kLong = 1024;
  auto aligned = [=](const void* a, const void* b) {
    return (reinterpret_cast<uintptr_t>(a) ^ reinterpret_cast<uintptr_t>(b)) % kLine == 0;
  };
  if (n < kChunk) {
    for (int64_t r = 0; r < rows; ++r, x += xs, y += ys) {
      DYGRAPH_IVDEP
      for (int64_t i = 0; i < n; ++i) y[i] = x[i];
    }
  } else if (n > kLong && aligned(x, y) && (rows == 1 || aligned(x + xs, y + ys))) {
    for (int64_t r = 0; r < rows; ++r) std::memcpy(y + r * ys, x + r * xs, n * sizeof(T));
  } else {
    Simd([=] {
      for (int64_t r = 0; r < rows; ++r) {
        const T* from = x + r * xs;
        T* to = y + r * ys;
        std::memcpy(to, from, kLine);
        int64_t i = kChunk - reinterpret_cast<uintptr_t>(to) % kLine / sizeof(T);
        for (; i + kChunk <= n; i += kChunk) std::memcpy(to + i, from + i, kLine);
        std::memcpy(to + n - kChunk, from + n - kChunk, kLine);  // the rest, with some once more
      }
    });
  }
}

template <class T>
void CopyDenseRows(const Walk<2>& walk, const T* x, T* y) {
  int last = walk.rank - 1, inner = last - 1;
  int64_t n = walk.dims[last], size = walk.dims[inner];
  int64_t xs = walk.strides[0][inner], ys = walk.strides[1][inner];
  ParallelRows(walk.Count(0, last), n, [&](int64_t begin, int64_t end) {
    Odometer<2> at(walk, inner, begin / size);
    for (int64_t r = begin, i = begin % size; r < end; i = 0, at.Next()) {
      int64_t count = std::min(size - i, end - r);
      CopyEvenRows(x + at.offset[0] + i * xs, xs, y + at.offset[1] + i * ys, ys, count, n);
      r += count;
    }
  });
}

#define REGISTER_BITS(T)                                                        \
  template void CopyEvenRows(const T*, int64_t, T*, int64_t, int64_t, int64_t); \
  template void CopyDenseRows(const Walk<2>&, const T*, T*)
REGISTER_BITS(uint8_t);
REGISTER_BITS(uint16_t);
REGISTER_BITS(uint32_t);
REGISTER_BITS(uint64_t);
REGISTER_BITS(complex128);  // 16 bytes
#undef REGISTER_BITS

}  // namespace dygraph::kernels

#include "tensor/image_order.h"

#include <algorithm>
#include <cstring>

#include "platform/threads.h"

namespace dygraph {
namespace {

constexpr int64_t kLine = 64;                // elements that are read and written in one go
constexpr int64_t kLeastElements = 1 << 15;  // for a thread

struct Pair {
  uint64_t first, second;
};

// y[j * ys + i] = x[i * xs + j] for i, j < kTile<T>. Vectors of 16 bytes, which every processor
// has.
template <class T>
constexpr int64_t kTile = sizeof(T) >= 4 ? 16 / sizeof(T) : 1;

template <class T>
inline void CopyTile(const T* x, int64_t xs, T* y, int64_t ys) {
  if constexpr (kTile<T> == 1) {
    *y = *x;
  } else {
    typedef T V __attribute__((vector_size(16)));
    V v[kTile<T>];
    for (int64_t i = 0; i < kTile<T>; ++i) std::memcpy(&v[i], x + i * xs, 16);
    if constexpr (kTile<T> == 2) {
      V a = __builtin_shuffle(v[0], v[1], V{0, 2}), b = __builtin_shuffle(v[0], v[1], V{1, 3});
      v[0] = a, v[1] = b;
    } else {
      V a = __builtin_shuffle(v[0], v[2], V{0, 4, 1, 5});
      V b = __builtin_shuffle(v[0], v[2], V{2, 6, 3, 7});
      V c = __builtin_shuffle(v[1], v[3], V{0, 4, 1, 5});
      V d = __builtin_shuffle(v[1], v[3], V{2, 6, 3, 7});
      v[0] = __builtin_shuffle(a, c, V{0, 4, 1, 5});
      v[1] = __builtin_shuffle(a, c, V{2, 6, 3, 7});
      v[2] = __builtin_shuffle(b, d, V{0, 4, 1, 5});
      v[3] = __builtin_shuffle(b, d, V{2, 6, 3, 7});
    }
    for (int64_t i = 0; i < kTile<T>; ++i) std::memcpy(y + i * ys, &v[i], 16);
  }
}

// A block of at most kLine x kLine. Rows far apart fall into one set of the cache: lines of the
// side with the longer rows are used up at once.
template <class T>
void CopyBlock(const T* x, int64_t xs, T* y, int64_t ys, int64_t rows, int64_t cols) {
  constexpr int64_t kStep = kTile<T>;
  int64_t whole_rows = rows / kStep * kStep, whole_cols = cols / kStep * kStep;
  if (xs > ys) {
    for (int64_t i = 0; i < whole_rows; i += kStep) {
      for (int64_t j = 0; j < whole_cols; j += kStep)
        CopyTile(x + i * xs + j, xs, y + j * ys + i, ys);
    }
  } else {
    for (int64_t j = 0; j < whole_cols; j += kStep) {
      for (int64_t i = 0; i < whole_rows; i += kStep)
        CopyTile(x + i * xs + j, xs, y + j * ys + i, ys);
    }
  }
  for (int64_t i = 0; i < whole_rows; ++i) {
    for (int64_t j = whole_cols; j < cols; ++j) y[j * ys + i] = x[i * xs + j];
  }
  for (int64_t i = whole_rows; i < rows; ++i) {
    for (int64_t j = 0; j < cols; ++j) y[j * ys + i] = x[i * xs + j];
  }
}

// Strips of kLine rows or columns, whichever there are more of, are shared out.
template <class T>
void Transpose(const void* from, void* to, int64_t n, int64_t rows, int64_t cols) {
  bool wide = cols >= rows;
  int64_t strips = ((wide ? cols : rows) + kLine - 1) / kLine, all = n * strips;
  int64_t pieces = std::max<int64_t>(
      std::min<int64_t>({NumThreads(), all, n * rows * cols / kLeastElements}), 1);
  ParallelBlocks(pieces, [=](int64_t piece) {
    for (int64_t s = all * piece / pieces; s < all * (piece + 1) / pieces; ++s) {
      const T* x = static_cast<const T*>(from) + s / strips * rows * cols;
      T* y = static_cast<T*>(to) + s / strips * rows * cols;
      int64_t at = s % strips * kLine;
      if (wide) {
        for (int64_t i = 0; i < rows; i += kLine) {
          CopyBlock(x + i * cols + at, cols, y + at * rows + i, rows, std::min(kLine, rows - i),
                    std::min(kLine, cols - at));
        }
      } else {
        for (int64_t j = 0; j < cols; j += kLine) {
          CopyBlock(x + at * cols + j, cols, y + j * rows + at, rows, std::min(kLine, rows - at),
                    std::min(kLine, cols - j));
        }
      }
    }
  });
}

}  // namespace

void TransposeImages(const void* from, void* to, int64_t n, int64_t rows, int64_t cols,
                     size_t element_size) {
  switch (element_size) {
    case 1: return Transpose<uint8_t>(from, to, n, rows, cols);
    case 2: return Transpose<uint16_t>(from, to, n, rows, cols);
    case 4: return Transpose<uint32_t>(from, to, n, rows, cols);
    case 16: return Transpose<Pair>(from, to, n, rows, cols);
    default: return Transpose<uint64_t>(from, to, n, rows, cols);
  }
}

}  // namespace dygraph

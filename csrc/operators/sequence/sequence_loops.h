// Loops over the rows of sequences, whose offsets the host has.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "operators/sequence/sequence.h"

namespace dygraph::sequence {

inline void CopyRuns(const Moves& moves, const void* from, size_t row_bytes, void* to) {
  if (row_bytes == 0) return;
  for (const Run& r : moves.runs) {
    std::memcpy(static_cast<char*>(to) + r.to * row_bytes,
                static_cast<const char*>(from) + r.from * row_bytes, r.count * row_bytes);
  }
}

// x, of n numbers, gets at each row the sum of what arrived at its copies.
template <class T>
void AddRunsBack(const Moves& moves, const T* g, int64_t width, T* x, int64_t n) {
  std::fill(x, x + n, T(0));
  for (const Run& r : moves.runs) {
    const T* from = g + r.to * width;
    T* to = x + r.from * width;
    for (int64_t i = 0; i < r.count * width; ++i) to[i] += from[i];
  }
}

// y[s] = the weighted sum of the rows [begin, end) of x; `other` where there are none.
template <class T>
struct WeightedRows {
  int64_t begin, end;
  T weight;
};
template <class T>
void SumRows(const std::vector<WeightedRows<T>>& parts, const T* x, int64_t width, T other, T* y) {
  for (const WeightedRows<T>& p : parts) {
    std::fill(y, y + width, p.begin == p.end ? other : T(0));
    for (int64_t r = p.begin; r < p.end; ++r) {
      for (int64_t j = 0; j < width; ++j) y[j] += x[r * width + j];
    }
    for (int64_t j = 0; p.begin < p.end && j < width; ++j) y[j] *= p.weight;
    y += width;
  }
}
// The rows [begin, end) of x = weight * g[s]; other rows of the n are zeros.
template <class T>
void SpreadRows(const std::vector<WeightedRows<T>>& parts, const T* g, int64_t width, T* x,
                int64_t n) {
  std::fill(x, x + n * width, T(0));
  for (const WeightedRows<T>& p : parts) {
    for (int64_t r = p.begin; r < p.end; ++r) {
      for (int64_t j = 0; j < width; ++j) x[r * width + j] = p.weight * g[j];
    }
    g += width;
  }
}

// `index` names a row of its sequence for each number of a sequence; it comes from outside where
// the gradient is called by name.
inline const int32_t* CheckedIndex(const Tensor& index, const Offsets& offsets, int64_t width) {
  const int32_t* from = index.data<int32_t>();
  for (int64_t i = 0; i < index.numel(); ++i) {
    int64_t begin = offsets[i / width], end = offsets[i / width + 1];
    ENFORCE(begin == end || (from[i] >= begin && from[i] < end), OutOfRange,
            "each of MaxIndex must be a row of its sequence, in [", begin, ", ", end, "), got ",
            from[i]);
  }
  return from;
}
// y[s, j] = x[index[s, j], j], 0 for a sequence without rows.
template <class T>
void PickRows(const Tensor& index, const Offsets& offsets, const T* x, int64_t width, T* y) {
  const int32_t* from = CheckedIndex(index, offsets, width);
  for (int64_t s = 0; s < Count(offsets); ++s, y += width, from += width) {
    const bool empty = offsets[s] == offsets[s + 1];
    for (int64_t j = 0; j < width; ++j) y[j] = empty ? T(0) : x[from[j] * width + j];
  }
}
// x[index[s, j], j] = g[s, j]; the other numbers of x, which has n rows, are zeros.
template <class T>
void PutPicked(const Tensor& index, const Offsets& offsets, const T* g, int64_t width, T* x,
               int64_t n) {
  const int32_t* from = CheckedIndex(index, offsets, width);
  std::fill(x, x + n * width, T(0));
  for (int64_t s = 0; s < Count(offsets); ++s, g += width, from += width) {
    if (offsets[s] == offsets[s + 1]) continue;
    for (int64_t j = 0; j < width; ++j) x[from[j] * width + j] += g[j];
  }
}

// Each sequence padded to `longest` rows with one number, or with a row of them.
template <class T>
void PadRows(const Offsets& offsets, const T* x, int64_t width, int64_t longest, const T* pad,
             bool one, T* y) {
  for (int64_t s = 0; s < Count(offsets); ++s) {
    const int64_t length = offsets[s + 1] - offsets[s];
    T* at = y + s * longest * width;
    std::copy_n(x + offsets[s] * width, length * width, at);
    for (int64_t i = length * width; i < longest * width; ++i)
      at[i] = one ? pad[0] : pad[i % width];
  }
}

}  // namespace dygraph::sequence

// Loops over rows and their neighbours.
#pragma once

#include <algorithm>

#include "operators/sequence/sequence_context.h"

namespace dygraph::sequence {

// Calls f(row, place in the window, source row >= 0, or -1, padding row) for all places; a padding
// row of -1 stands for zeros.
template <class F>
void ForEachNeighbour(const Offsets& offsets, const ContextAttrs& a, F f) {
  for (int64_t s = 0; s < Count(offsets); ++s) {
    int64_t begin = offsets[s], end = offsets[s + 1];
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t k = 0; k < a.contextLength; ++k) {
        int64_t from = row + a.contextStart + k;
        if (from >= begin && from < end) {
          f(row, k, from, int64_t{-1});
        } else if (!a.paddingTrainable) {
          f(row, k, int64_t{-1}, int64_t{-1});
        } else {
          f(row, k, int64_t{-1}, from < begin ? a.up() + from - begin : a.up() + from - end);
        }
      }
    }
  }
}

// x [rows, width] -> to [rows, contextLength * width]
template <class T>
void GatherContext(const Offsets& offsets, const ContextAttrs& a, const T* x, const T* padding,
                   int64_t width, T* to) {
  ForEachNeighbour(offsets, a, [&](int64_t row, int64_t k, int64_t from, int64_t pad) {
    T* at = to + (row * a.contextLength + k) * width;
    const T* source = from >= 0             ? x + from * width
                      : padding && pad >= 0 ? padding + pad * width
                                            : nullptr;
    if (source) {
      std::copy_n(source, width, at);
    } else {
      std::fill_n(at, width, T(0));
    }
  });
}

// The sums of `g` by what the rows were made of: x, of `rows` rows, and `padding`, of so many rows;
// either may be null.
template <class T>
void SpreadContext(const Offsets& offsets, const ContextAttrs& a, const T* g, int64_t width,
                   int64_t rows, T* x, int64_t padding_rows, T* padding) {
  if (x) std::fill_n(x, rows * width, T(0));
  if (padding) std::fill_n(padding, padding_rows * width, T(0));
  ForEachNeighbour(offsets, a, [&](int64_t row, int64_t k, int64_t from, int64_t pad) {
    const T* at = g + (row * a.contextLength + k) * width;
    T* to = from >= 0 ? (x ? x + from * width : nullptr)
                      : (padding && pad >= 0 ? padding + pad * width : nullptr);
    for (int64_t j = 0; to && j < width; ++j) to[j] += at[j];
  });
}

}  // namespace dygraph::sequence

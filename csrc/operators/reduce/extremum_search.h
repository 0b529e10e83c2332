// Where the greatest or least element along an axis stands.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/parallel.h"
#include "kernels/simd.h"

namespace dygraph::arg_extremum {

// Position of the first element that no other beats: its value by vector instructions, then where
// it stands.
template <class T, class Beats>
int64_t First(const T* row, int64_t n, Beats beats) {
  constexpr int64_t kLanes = 64 / sizeof(T);
  if (n < 2 * kLanes) {
    int64_t at = 0;
    for (int64_t i = 1; i < n; ++i) at = beats(row[i], row[at]) ? i : at;
    return at;
  }
  T best[kLanes];
  std::fill_n(best, kLanes, row[0]);
  T* lanes = best;
  kernels::Simd([=] {
    T b[kLanes];
    for (int64_t k = 0; k < kLanes; ++k) b[k] = lanes[k];
    for (int64_t i = 0; i + kLanes <= n; i += kLanes) {
      for (int64_t k = 0; k < kLanes; ++k) b[k] = beats(row[i + k], b[k]) ? row[i + k] : b[k];
    }
    for (int64_t k = 0; k < kLanes; ++k) lanes[k] = b[k];
  });
  T winner = best[0];
  for (int64_t k = 1; k < kLanes; ++k) winner = beats(best[k], winner) ? best[k] : winner;
  for (int64_t i = n / kLanes * kLanes; i < n; ++i)
    winner = beats(row[i], winner) ? row[i] : winner;
  int64_t at = 0;
  if (winner != winner) {
    while (row[at] == row[at]) ++at;
  } else {
    while (row[at] != winner) ++at;
  }
  return at;
}

// Along the middle axis of [rows, n, inner]. A NaN wins over all, the first of equals over the others.
template <bool kMax, class T, class Index>
void Search(const T* from, int64_t rows, int64_t n, int64_t inner, Index* to) {
  auto beats = [](T v, T best) {
    return (kMax ? v > best : v < best) | ((v != v) & (best == best));
  };
  kernels::ParallelRows(rows, n * inner, [=](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const T* row = from + r * n * inner;
      Index* found = to + r * inner;
      for (int64_t k = 0; k < inner; ++k) found[k] = 0;
      if (inner == 1) {
        found[0] = static_cast<Index>(First(row, n, beats));
        continue;
      }
      for (int64_t i = 1; i < n; ++i) {  // along memory
        for (int64_t k = 0; k < inner; ++k) {
          if (beats(row[i * inner + k], row[found[k] * inner + k])) found[k] = static_cast<Index>(i);
        }
      }
    }
  });
}

}  // namespace dygraph::arg_extremum

// Slices that come several times in a row, and the sums that undo them.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/parallel.h"
#include "operators/index/repeat_times.h"

namespace dygraph::indexing {

// Calls f(slice, row, times), on several threads: of [outer, n] slices of `width` elements this one
// comes `times` times in Out, from slice `row` on.
template <class F>
void ForRuns(const Times& times, int64_t outer, int64_t n, int64_t width, const F& f) {
  std::vector<int64_t> begins{0};
  for (int64_t k : times.list) begins.push_back(begins.back() + k);
  const int64_t* begin_of = times.list.empty() ? nullptr : begins.data();
  const int64_t each = times.each, total = times.total;
  const int64_t cost = width * std::max<int64_t>(total / std::max<int64_t>(n, 1), 1);
  kernels::ParallelRows(outer * n, cost, [=](int64_t begin, int64_t end) {
    int64_t i = n == 0 ? 0 : begin % n, base = n == 0 ? 0 : begin / n * total;
    for (int64_t s = begin; s < end; ++s) {
      const int64_t first = begin_of ? begin_of[i] : i * each;
      f(s, base + first, begin_of ? begin_of[i + 1] - first : each);
      if (++i < n) continue;
      i = 0;
      base += total;
    }
  });
}

// to: each of [outer, n] slices of `width` elements as often as `times` says.
template <class T>
void RepeatSlices(KernelContext&, const Times& times, int64_t outer, int64_t n, int64_t width,
                  const T* from, T* to) {
  ForRuns(times, outer, n, width, [=](int64_t i, int64_t row, int64_t k) {
    if (width == 1) {
      const T value = from[i];
      for (int64_t r = row; r < row + k; ++r) to[r] = value;
      return;
    }
    for (int64_t r = row; r < row + k; ++r)
      std::memcpy(to + r * width, from + i * width, width * sizeof(T));
  });
}

// to: of each slice the sum of its copies in g.
template <class T>
void SumSlices(KernelContext&, const Times& times, int64_t outer, int64_t n, int64_t width,
               const T* g, T* to) {
  ForRuns(times, outer, n, width, [=](int64_t i, int64_t row, int64_t k) {
    if (width == 1) {
      T sum = 0;
      for (int64_t r = row; r < row + k; ++r) sum += g[r];
      to[i] = sum;
      return;
    }
    T* sum = to + i * width;
    std::fill_n(sum, width, T(0));
    for (int64_t r = row; r < row + k; ++r) {
      const T* add = g + r * width;
      for (int64_t j = 0; j < width; ++j) sum[j] += add[j];
    }
  });
}

}  // namespace dygraph::indexing

// operators/reduce/selection.h on the device: lines are sorted whole.
#pragma once

#include "kernels/fold.h"
#include "operators/reduce/sorting.h"

namespace dygraph::sorting {

// The k-th smallest element of each line, k from 0, and where it stands.
template <class T>
void Kth(const T* from, const Lines& lines, int64_t k, T* values, int64_t* indices) {
  SortedLines<T> sorted(from, lines, false);
  const uint32_t* at = sorted.at.data();
  const Lines all = lines;
  kernels::ForEach(all.count(), [=] DYGRAPH_FN(int64_t line) {
    const int64_t found = at[line * all.n + k];
    values[line] = from[all.Begin(line, all.n) + found * all.inner];
    indices[line] = found;
  });
}

// A run of equal elements: how long it is up to the sorted place `end`.
struct Run {
  int64_t length, end;
};

// The most frequent element of each line, the least of several, and where it stands last.
template <class T>
void Mode(const T* from, const Lines& lines, T* values, int64_t* indices) {
  using K = KeyOf<T>;
  SortedLines<T> sorted(from, lines, false);
  const K* all_keys = sorted.keys.data();
  const uint32_t* at = sorted.at.data();
  const Lines all = lines;
  kernels::ForEachRow(all.count(), all.n, [=] DYGRAPH_FN(int64_t line, kernels::Team team) {
    const K* keys = all_keys + line * all.n;
    const Run best = team.Merge(
        all.n, Run{0, all.n},
        [=](int64_t i) {
          return Run{i + 1 - kernels::Bound<false>(keys, all.n, keys[i]), i};
        },
        [](Run a, Run b) {
          return a.length > b.length || (a.length == b.length && a.end < b.end) ? a : b;
        });
    team.Once([=] {
      const int64_t found = at[line * all.n + best.end];
      values[line] = from[all.Begin(line, all.n) + found * all.inner];
      indices[line] = found;
    });
  });
}

}  // namespace dygraph::sorting

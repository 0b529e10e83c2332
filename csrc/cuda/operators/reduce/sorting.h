// operators/reduce/sorting.h on the device: lines are sorted whole.
#pragma once

#include "cuda/scratch.h"
#include "kernels/loops.h"
#include "kernels/sort_lines.h"
#include "operators/reduce/order_key.h"

namespace dygraph::sorting {

// The keys of lines in order, and where they stood: those of line i from i * n on.
template <class T>
struct SortedLines {
  using K = KeyOf<T>;
  SortedLines(const T* from, const Lines& lines, bool descending)
      : keys(lines.count() * lines.n), at(lines.count() * lines.n) {
    Fill(from, lines, descending ? static_cast<K>(~K(0)) : K(0));
  }
  void Fill(const T* from, Lines lines, K flip) {
    kernels::SortLines(
        lines.count(), lines.n,
        [=] DYGRAPH_FN(int64_t line, int64_t i) {
          return static_cast<K>(OrderKey(from[lines.Begin(line, lines.n) + i * lines.inner]) ^
                                flip);
        },
        keys.data(), at.data());
  }
  cuda::Workspace<K> keys;
  cuda::Workspace<uint32_t> at;
};

// The first k elements of each line of x in order, and where in the line they stood.
template <class T>
void Sort(const Tensor& x, int64_t axis, int64_t k, bool descending, T* values, int64_t* indices) {
  const Lines lines(x.dims(), axis);
  if (k == 0) return;
  const T* from = x.data<T>();
  SortedLines<T> sorted(from, lines, descending);
  const uint32_t* at = sorted.at.data();
  kernels::ForEach(lines.count() * k, [=] DYGRAPH_FN(int64_t e) {
    const int64_t o = e / (k * lines.inner), i = e / lines.inner % k, c = e % lines.inner;
    const int64_t line = o * lines.inner + c, found = at[line * lines.n + i];
    values[e] = from[lines.Begin(line, lines.n) + found * lines.inner];
    indices[e] = found;
  });
}

}  // namespace dygraph::sorting

// Loops over rows that the host runs plainly: elements in their order, no copy for each instruction
// set. On a device a team shares each row, as in ForEachRow (kernels/loops.h).
//
//   ForEachRowPlain(rows, n, [=] DYGRAPH_FN(int64_t r, Team team) {
//     const T *a = x + r * n, *b = y + r * n;
//     out[r] = Fold(team, n, T(0), [=](int64_t j) { return a[j] * b[j]; }, Sum());
//   });
#pragma once

#include <cstdint>

#include "kernels/loops.h"

namespace dygraph::kernels {

// f(r, team) for every row of about `width` elements; `cost` is that of one element.
template <class F>
void ForEachRowPlain(int64_t rows, int64_t width, F f, int64_t cost = 1) {
  ParallelRows(rows, std::max<int64_t>(width * cost, 1), [=](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) f(r, Team());
  });
}

// merge(... merge(merge(init, f(0)), f(1)) ..., f(n - 1)). init must be neutral: on a device each
// thread begins with it.
template <class T, class F, class M>
DYGRAPH_INLINE T Fold(const Team&, int64_t n, T init, F f, M merge) {
  for (int64_t j = 0; j < n; ++j) init = merge(init, f(j));
  return init;
}

// start + f(0) + f(1) + ..., in this order.
template <class T, class F>
DYGRAPH_INLINE T SumFrom(const Team&, int64_t n, T start, F f) {
  for (int64_t j = 0; j < n; ++j) start += f(j);
  return start;
}

// The first j for which f(j) holds; n where there is none.
template <class F>
DYGRAPH_INLINE int64_t First(const Team&, int64_t n, F f) {
  int64_t j = 0;
  while (j < n && !f(j)) ++j;
  return j;
}

// put(merge(... merge(init, f(0)) ..., f(n - 1))): one row, however long. init must be neutral.
template <class T, class F, class M, class P>
void FoldAll(int64_t n, T init, F f, M merge, P put) {
  for (int64_t j = 0; j < n; ++j) init = merge(init, f(j));
  put(init);
}

// a + b, as the merge of sums.
struct Sum {
  template <class T>
  DYGRAPH_INLINE T operator()(T a, T b) const {
    return a + b;
  }
};

}  // namespace dygraph::kernels

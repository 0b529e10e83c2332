// kernels/fold.h on the device: a team shares each row.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cuda/scratch.h"
#include "kernels/loops.h"

namespace dygraph::kernels {

template <class F>
void ForEachRowPlain(int64_t rows, int64_t width, F f, int64_t = 1) {
  ForEachRow(rows, width, f);
}

// All f(j) merged, in an order that depends on n alone.
template <class T, class F, class M>
DYGRAPH_INLINE T Fold(const Team& team, int64_t n, T init, F f, M merge) {
  return team.Merge(n, init, f, merge);
}

// start + f(0) + f(1) + ...
template <class T, class F>
DYGRAPH_INLINE T SumFrom(const Team& team, int64_t n, T start, F f) {
  return start + team.Merge(n, T(0), f, [](T a, T b) { return a + b; });
}

// The first j for which f(j) holds; n where there is none.
template <class F>
DYGRAPH_INLINE int64_t First(const Team& team, int64_t n, F f) {
  return team.Min(n, n, [=](int64_t j) { return f(j) ? j : n; });
}

// put(all f(j) merged), in an order that depends on n alone. init must be neutral.
template <class T, class F, class M, class P>
void FoldAll(int64_t n, T init, F f, M merge, P put) {
  constexpr int64_t kPart = 8192;
  const int64_t count = (n + kPart - 1) / kPart;
  cuda::Workspace<T> room(count);
  T* parts = room.data();
  ForEachRow(count, kPart, [=] DYGRAPH_FN(int64_t r, Team team) {
    const int64_t first = r * kPart;
    const T part = team.Merge(
        std::min(kPart, n - first), init, [=](int64_t j) { return f(first + j); }, merge);
    team.Once([=] { parts[r] = part; });
  });
  ForEachRow(1, count, [=] DYGRAPH_FN(int64_t, Team team) {
    const T total = team.Merge(
        count, init, [=](int64_t j) { return parts[j]; }, merge);
    team.Once([=] { put(total); });
  });
}

// a + b, as the merge of sums.
struct Sum {
  template <class T>
  DYGRAPH_INLINE T operator()(T a, T b) const {
    return a + b;
  }
};

}  // namespace dygraph::kernels

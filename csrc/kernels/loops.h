// Loops whose body is given for an index or for a row, in words that the host and devices share.
// Bodies are marked DYGRAPH_BOTH and capture by value.
//
//   ForEachRow(rows, n, [=] DYGRAPH_FN(int64_t r, Team team) {
//     const float *a = x + r * n;
//     float top = team.Max(n, low, [=](int64_t j) { return a[j]; });
//     float total = team.Sum<float>(n, [=](int64_t j) { return Exp(a[j] - top); });
//     team.Each(n, [=](int64_t j) { y[r * n + j] = Exp(a[j] - top) / total; });
//   });
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/parallel.h"
#include "kernels/simd.h"

namespace dygraph::kernels {

// f(i) for every i in [0, n), in any order. `cost` as for Grain.
template <class F>
void ForEach(int64_t n, F f, int64_t cost = 1) {
  ParallelFor(n, Grain(cost), [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i);
  });
}

// The same where the loop is worth a copy for each instruction set: T is what it computes in.
// Iterations must be independent, also where an output is exactly an input.
template <class T, class F>
void ForEachSimd(int64_t n, F f, int64_t cost = 1) {
  ParallelFor(n, Grain(cost), [=](int64_t begin, int64_t end) {
    SimdFor<T>([=] {
      DYGRAPH_IVDEP
      for (int64_t i = begin; i < end; ++i) f(i);
    });
  });
}

// Those who share one row: on the host one thread. All of them must make the same calls in the same
// order.
class Team {
 public:
  // f(j) for every j in [0, n), each independent of the others. What f wrote at j may be read at j
  // later; of other places only after Sync.
  template <class F>
  DYGRAPH_INLINE void Each(int64_t n, F f) const {
    DYGRAPH_IVDEP
    for (int64_t j = 0; j < n; ++j) f(j);
  }
  // The sum of f(j) over [0, n); floats are added in double after every 64 of a lane.
  template <class T, class F>
  DYGRAPH_INLINE T Sum(int64_t n, F f) const {
    using Wide = std::conditional_t<std::is_same_v<T, float>, double, T>;
    Wide sum = 0;
    for (int64_t begin = 0; begin < n; begin += 64 * kLanes) {
      T part =
          Lanes(begin, std::min(n, begin + 64 * kLanes), T(0), f, [](T a, T b) { return a + b; });
      sum += part;
    }
    return static_cast<T>(sum);
  }
  // The largest of f(j) and low, the smallest of f(j) and high; a NaN wins.
  template <class T, class F>
  DYGRAPH_INLINE T Max(int64_t n, T low, F f) const {
    return Merge(n, low, f, [](T a, T b) { return a > b || a != a ? a : b; });
  }
  template <class T, class F>
  DYGRAPH_INLINE T Min(int64_t n, T high, F f) const {
    return Merge(n, high, f, [](T a, T b) { return a < b || a != a ? a : b; });
  }
  // merge of init and all f(j), in a fixed order; init must be neutral, since every lane begins
  // with it.
  template <class T, class F, class M>
  DYGRAPH_INLINE T Merge(int64_t n, T init, F f, M merge) const {
    return Lanes(0, n, init, f, merge);
  }
  // f() once.
  template <class F>
  DYGRAPH_INLINE void Once(F f) const {
    f();
  }
  // What one has written before, all may read after.
  DYGRAPH_INLINE void Sync() const {}

 private:
  static constexpr int kLanes = 16;

  template <class T, class F, class M>
  static DYGRAPH_INLINE T Lanes(int64_t begin, int64_t end, T init, const F& f, const M& merge) {
    T lane[kLanes];
    for (int k = 0; k < kLanes; ++k) lane[k] = init;
    int64_t j = begin;
    for (; j + kLanes <= end; j += kLanes) {
      for (int k = 0; k < kLanes; ++k) lane[k] = merge(lane[k], f(j + k));
    }
    for (int width = kLanes / 2; width > 0; width /= 2) {
      for (int k = 0; k < width; ++k) lane[k] = merge(lane[k], lane[k + width]);
    }
    for (; j < end; ++j) lane[0] = merge(lane[0], f(j));
    return lane[0];
  }
};

// f(r, team) for every row of about `width` elements; `cost` is that of one element.
template <class F>
void ForEachRow(int64_t rows, int64_t width, F f, int64_t cost = 1) {
  ParallelRows(rows, std::max<int64_t>(width * cost, 1), [=](int64_t begin, int64_t end) {
    Simd([=] {
      for (int64_t r = begin; r < end; ++r) f(r, Team());
    });
  });
}

}  // namespace dygraph::kernels

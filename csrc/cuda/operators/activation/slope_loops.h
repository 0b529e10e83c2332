// operators/activation/slope_loops.h on the device.
#pragma once

#include "kernels/loops.h"
#include "operators/activation/slopes.h"

namespace dygraph {

// f(i, the slope of element i) for every i.
template <class T, class F>
void ForEachSlope(Slopes s, const T* alpha, F f) {
  kernels::ForEach(s.outer * s.n * s.inner,
                   [=] DYGRAPH_FN(int64_t i) { f(i, alpha[i / s.inner % s.n]); });
}

// to[k] = the sum of f(i), a double, over the elements i of slope k.
template <class T, class F>
void SumBySlope(Slopes s, T* to, F f) {
  const int64_t count = s.outer * s.inner;
  kernels::ForEachRow(s.n, count, [=] DYGRAPH_FN(int64_t k, kernels::Team team) {
    const double total = team.Sum<double>(count, [=](int64_t j) {
      const int64_t o = j / s.inner, i = j - o * s.inner;
      return f((o * s.n + k) * s.inner + i);
    });
    team.Once([=] { to[k] = static_cast<T>(total); });
  });
}

}  // namespace dygraph

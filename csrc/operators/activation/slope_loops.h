// Loops over numbers that have slopes.
#pragma once

#include <algorithm>

#include "kernels/parallel.h"
#include "operators/activation/slopes.h"

namespace dygraph {

// f(i, the slope of element i) for every i.
template <class T, class F>
void ForEachSlope(const Slopes& s, const T* alpha, const F& f) {
  if (s.inner == 0 || s.n == 0) return;
  ParallelFor(s.outer * s.n * s.inner, kernels::Grain(), [=](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end;) {  // runs of elements that share a slope
      const int64_t run = at / s.inner, last = std::min(end, (run + 1) * s.inner);
      const T a = alpha[run % s.n];
      for (int64_t i = at; i < last; ++i) f(i, a);
      at = last;
    }
  });
}

// to[k] = the sum of f(i), a double, over the elements i of slope k.
template <class T, class F>
void SumBySlope(const Slopes& s, T* to, const F& f) {
  kernels::ParallelRows(s.n, s.outer * s.inner * 2, [=](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      double total = 0;
      for (int64_t o = 0; o < s.outer; ++o) {
        const int64_t first = (o * s.n + k) * s.inner;
        for (int64_t i = first; i < first + s.inner; ++i) total += f(i);
      }
      to[k] = static_cast<T>(total);
    }
  });
}

}  // namespace dygraph

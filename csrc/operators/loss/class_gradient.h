// The gradient of softmax_with_cross_entropy for class numbers, in the order of memory.
#pragma once

#include "kernels/parallel.h"
#include "kernels/simd.h"
#include "operators/labels.h"

namespace dygraph::labels {

namespace detail {
template <class T>
DYGRAPH_INLINE void Scaled(const T* y, T f, int64_t n, T* to, bool add) {
  if (add) {
    DYGRAPH_IVDEP
    for (int64_t j = 0; j < n; ++j) to[j] += y[j] * f;
  } else {
    DYGRAPH_IVDEP
    for (int64_t j = 0; j < n; ++j) to[j] = y[j] * f;
  }
}
}  // namespace detail

// dx = g (y - onehot(label)), 0 where the label is ignored; with `add` that is added to dx.
template <class T>
void ClassGradient(const T* y, const T* g, const ClassLabels& classes, int64_t ignored,
                   const kernels::SoftmaxShape& s, bool add, T* dx) {
  kernels::ParallelRows(s.outer, s.n * s.inner, [=](int64_t begin, int64_t end) {
    kernels::Simd([=] {
      for (int64_t o = begin; o < end; ++o) {
        if (s.inner == 1) {
          T f = classes[o] == ignored ? T(0) : g[o];
          detail::Scaled(y + o * s.n, f, s.n, dx + o * s.n, add);
          continue;
        }
        for (int64_t c = 0; c < s.n; ++c) {
          int64_t at = (o * s.n + c) * s.inner;
          for (int64_t k = 0; k < s.inner; ++k) {
            T f = classes[o * s.inner + k] == ignored ? T(0) : g[o * s.inner + k];
            dx[at + k] = y[at + k] * f + (add ? dx[at + k] : T(0));
          }
        }
      }
    });
    for (int64_t r = begin * s.inner; r < end * s.inner; ++r) {
      int64_t c = classes[r];
      if (c != ignored) dx[(r / s.inner * s.n + c) * s.inner + r % s.inner] -= g[r];
    }
  });
}

}  // namespace dygraph::labels

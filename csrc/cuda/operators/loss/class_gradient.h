// operators/loss/class_gradient.h on the device.
#pragma once

#include "kernels/loops.h"
#include "operators/labels.h"

namespace dygraph::labels {

// dx = g (y - onehot(label)), 0 where the label is ignored; with `add` that is added to dx.
template <class T>
void ClassGradient(const T* y, const T* g, const ClassLabels& classes, int64_t ignored,
                   const kernels::SoftmaxShape& s, bool add, T* dx) {
  const int64_t n = s.n, inner = s.inner;
  kernels::ForEach(s.rows() * n, [=] DYGRAPH_FN(int64_t i) {
    const int64_t o = i / (n * inner), c = i / inner % n, r = o * inner + i % inner;
    const int64_t label = classes[r];
    const T f = label == ignored ? T(0) : g[r];
    dx[i] = y[i] * f + (add ? dx[i] : T(0)) - (label == c ? f : T(0));
  });
}

}  // namespace dygraph::labels

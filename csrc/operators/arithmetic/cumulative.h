// Operators that run along an axis: the shape as [rows, n, inner] around it.
#pragma once

#include "kernels/parallel.h"
#include "op/op_registry.h"

namespace dygraph::cumulative {

struct Lines {
  int64_t rows = 1, n = 1, inner = 1;
};

// A number without axes is a line of one; its axis may be 0 or -1.
inline Lines Along(const Dims& x, int axis) {
  Lines l;
  axis = NormalizeAxis(axis, std::max(x.rank(), 1));
  if (x.rank() == 0) return l;
  l.rows = Numel(x, 0, axis);
  l.n = x[axis];
  l.inner = Numel(x, axis + 1, x.rank());
  return l;
}

// Calls f(offset of the first element) for each line; its elements are `inner` apart.
template <class F>
void ForLines(const Lines& l, int64_t cost, const F& f) {
  if (l.rows * l.n * l.inner == 0) return;
  kernels::ParallelRows(l.rows * l.inner, l.n * cost, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i / l.inner * l.n * l.inner + i % l.inner);
  });
}

}  // namespace dygraph::cumulative

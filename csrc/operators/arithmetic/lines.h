// Operators that run along an axis: the shape as [rows, n, inner] around it.
#pragma once

#include <algorithm>

#include "op/op_registry.h"

namespace dygraph::cumulative {

struct Lines {
  int64_t rows = 1, n = 1, inner = 1;
  DYGRAPH_INLINE int64_t Count() const { return rows * inner; }
  // Where line i begins; its elements are `inner` apart.
  DYGRAPH_INLINE int64_t First(int64_t i) const { return i / inner * n * inner + i % inner; }
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

}  // namespace dygraph::cumulative

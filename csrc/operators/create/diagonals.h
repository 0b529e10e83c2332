// diagonal and fill_diagonal_tensor: the diagonals of the matrices that two axes make.
#pragma once

#include "kernels/strided_copy.h"
#include "op/op_registry.h"

namespace dygraph::diagonals {

// Where they lie: element k of the diagonals has the offset first + k * step from element 0 of its
// matrix; `outer` and `strides` are the sizes and strides of the other axes, with the diagonal's
// behind them.
struct Diagonals {
  Dims shape, strides;
  int64_t first = 0;
};

inline int64_t CountOf(int64_t rows, int64_t columns, int64_t offset) {
  if (rows < 0 || columns < 0) return -1;
  const int64_t r = offset < 0 ? rows + offset : rows, c = offset > 0 ? columns - offset : columns;
  return std::max<int64_t>(std::min(r, c), 0);
}

inline Diagonals Of(const Dims& x, int64_t offset, int64_t axis1, int64_t axis2, const char* slot) {
  ENFORCE(x.rank() >= 2, InvalidArgument, slot, " must have at least two axes, got shape ", x);
  const int a = NormalizeAxis(axis1, x.rank()), b = NormalizeAxis(axis2, x.rank());
  ENFORCE(a != b, InvalidArgument, "the axes of the matrices must be two, got ", axis1, " and ",
          axis2, " of ", slot, " ", x);
  Diagonals d;
  Dims strides = x;
  if (!x.HasUnknown()) strides = Strides(x);
  for (int i = 0; i < x.rank(); ++i) {
    if (i == a || i == b) continue;
    d.shape.push_back(x[i]);
    d.strides.push_back(strides[i]);
  }
  const int64_t count = CountOf(x[a], x[b], offset);
  d.shape.push_back(count);
  d.strides.push_back(strides[a] + strides[b]);
  if (count > 0) d.first = offset < 0 ? -offset * strides[a] : offset * strides[b];
  return d;
}

}  // namespace dygraph::diagonals

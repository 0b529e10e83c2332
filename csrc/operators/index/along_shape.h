// Shapes of single elements that are addressed by their number along one axis.
#pragma once

#include "kernels/strided_copy.h"
#include "operators/index/indexing.h"

namespace dygraph::indexing {

// The shape that `index` addresses: its size along the axis; along the others that of x where an
// index of 1 repeats, or a smaller one, which stands for the leading part of x.
inline Dims AlongDims(const Dims& x, const Dims& index, int axis, const char* x_name) {
  ENFORCE(index.rank() == x.rank(), InvalidArgument, "Index must have as many axes as ", x_name,
          " ", x, ", got ", index);
  Dims shape = index;
  for (int i = 0; i < x.rank(); ++i) {
    if (i == axis) continue;
    if (index[i] == 1) shape[i] = x[i];
    if (!BothKnown(x[i], index[i])) continue;
    ENFORCE(shape[i] <= x[i], InvalidArgument, "Index must have the sizes of ", x_name, " ", x,
            ", or smaller ones, but along axis ", axis, ", got ", index);
  }
  return shape;
}

// The same of a gradient, whose shape it must be.
inline Dims AddedDims(const Dims& g, const Dims& x, const Dims& index, int axis,
                      const char* x_name) {
  const Dims shape = AlongDims(x, index, axis, x_name);
  ENFORCE(g == shape, InvalidArgument, "the gradient must have the shape ", shape,
          " of the forward call's output, got ", g);
  return shape;
}

// Whether `shape`, what an index addresses, is a part of x but along the axis.
inline bool IsPart(const Dims& shape, const Dims& x, int axis) {
  for (int i = 0; i < x.rank(); ++i) {
    if (i != axis && shape[i] != x[i]) return true;
  }
  return false;
}

}  // namespace dygraph::indexing

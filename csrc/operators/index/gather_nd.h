// gather_nd and scatter_nd_add: slices addressed by the last axis of an index, k numbers each.
#pragma once

#include "operators/index/indexing.h"

namespace dygraph::gather_nd {

using indexing::FlatIndices;
using indexing::IndexList;

// Shape of the slices of `x` that `index` [..., k] addresses.
inline Dims TakenDims(const Dims& x, const Dims& index) {
  ENFORCE(!index.empty(), InvalidArgument,
          "Index must have at least one axis, whose last one addresses a slice, got shape []");
  int64_t k = index[index.rank() - 1];
  ENFORCE(k >= 0, InvalidArgument, "the last size of Index must be known, got shape ", index,
          ". Declare it: it says how many axes are addressed");
  ENFORCE(k <= x.rank(), InvalidArgument, "the last size of Index ", index,
          " must be at most the number of axes of X ", x, ", ", x.rank(), ", got ", k);
  Dims out;
  for (int i = 0; i + 1 < index.rank(); ++i) out.push_back(index[i]);
  for (int i = static_cast<int>(k); i < x.rank(); ++i) out.push_back(x[i]);
  return out;
}

// `given`, the values of these slices, must have their shape.
inline void RequireTaken(const Dims& given, const char* slot, const Dims& x, const Dims& index) {
  Dims taken = TakenDims(x, index);
  bool same = given.size() == taken.size();
  for (size_t i = 0; same && i < taken.size(); ++i)
    same = given[i] == taken[i] || !BothKnown(given[i], taken[i]);
  ENFORCE(same, InvalidArgument, slot, " must have the shape ", taken, " of what Index ", index,
          " addresses in X ", x, ", got ", given);
}

inline kernels::RowShape RowsOf(const Dims& x, const Dims& index) {
  int k = static_cast<int>(index[index.rank() - 1]);
  return {1, Numel(x, 0, k), Numel(x, k, x.rank())};
}

}  // namespace dygraph::gather_nd

// What split_lod_tensor and merge_lod_tensor share: sequences that go one of two ways.
#pragma once

#include "operators/control/ranked.h"

namespace dygraph::ranked {

struct LevelAttrs {
  int32_t level = 0;
};

// The ways, true or false. TypeError for another type than bool.
inline Span<const bool> WaysIn(const KernelContext& ctx, int slot) {
  const Tensor& mask = ctx.In(slot);
  ENFORCE(mask.dtype() == DType::kBool, Type, "Mask must be of bool, got ", mask.dtype(),
          ". Compare to get a bool, or convert with astype('bool')");
  return {mask.data<bool>(), static_cast<size_t>(mask.numel())};
}

// The sequences of x at `level`, or its rows where that is the number of its levels.
inline int64_t CountOf(const Tensor& x, size_t level, size_t ways) {
  const LoDLevels& lod = x.lod_levels();
  ENFORCE(x.rank() > 0, InvalidArgument, "X must have rows, got shape ", x.dims());
  ENFORCE(level <= lod.size(), InvalidArgument,
          "level must be at most the number of X's levels of "
          "detail, ",
          lod.size(), ", got ", level);
  const int64_t n = level == lod.size() ? x.dim(0) : static_cast<int64_t>(lod[level].size()) - 1;
  ENFORCE(static_cast<size_t>(n) == ways, InvalidArgument,
          "Mask must have an element for each of "
          "the ",
          n, level == lod.size() ? " rows" : " sequences", " of X, got ", ways);
  return n;
}

}  // namespace dygraph::ranked

// unique, unique_with_counts and unique_consecutive: groups of equal elements or slices.
#pragma once

#include "kernels/cast.h"
#include "kernels/rows.h"
#include "op/op_registry.h"
#include "operators/reduce/distinct.h"

namespace dygraph::groups {

inline void CheckNumbers(DType dtype) {
  ENFORCE(dtype == DType::kInt32 || dtype == DType::kInt64, Type,
          "the attribute dtype must be int32 or int64, got ", dtype);
}

inline void RequireWidth(DType dtype, int64_t n) {
  ENFORCE(dtype == DType::kInt64 || n <= INT32_MAX, OutOfRange, "X of ", n,
          " elements needs dtype int64, got int32");
}

inline void Write(KernelContext& ctx, int slot, const List& values, DType dtype) {
  Tensor* out = ctx.OutOrNull(slot);
  if (!out) return;
  const int64_t n = static_cast<int64_t>(values.size());
  out->Allocate({n}, dtype, ctx.place());
  if (n > 0) kernels::Cast(DType::kInt64, values.data(), dtype, out->mutable_raw_data(), n);
}

// Out = the first row of each group.
template <class T>
void WriteFirst(KernelContext& ctx, int slot, const Tensor& x, const Groups& groups, int axis) {
  Tensor* out = ctx.OutOrNull(slot);
  if (!out) return;
  const int64_t count = static_cast<int64_t>(groups.first.size());
  Dims dims{count};
  kernels::RowShape shape{1, x.numel(), 1};
  if (axis >= 0) {
    dims = x.dims();
    dims[axis] = count;
    shape = {Numel(x.dims(), 0, axis), x.dim(axis), Numel(x.dims(), axis + 1, x.rank())};
  }
  out->Allocate(dims, x.dtype(), ctx.place());
  if (out->numel() == 0) return;
  kernels::TakeRows(shape, x.raw_data(), groups.first.data(), count, out->mutable_raw_data(),
                    sizeof(T));
}

}  // namespace dygraph::groups

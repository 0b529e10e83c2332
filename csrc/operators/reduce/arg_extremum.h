// What arg_max and arg_min share: all but one comparison.
#pragma once

#include <algorithm>

#include "op/lod_rule.h"
#include "op/op_registry.h"
#include "op/open_attr.h"
#include "operators/reduce/extremum_search.h"

namespace dygraph::arg_extremum {

constexpr int kX = 0, kOut = 0;

struct ArgExtremumAttrs {
  int64_t axis = -1;
  bool keepdims = false;
  bool flatten = false;
  DType dtype = DType::kUnset;
};

// A variable gives the axis.
inline void SetOpenOutput(InferContext& ctx, DType dtype) {
  Dims out;
  for (int64_t n : ctx.dims(kX)) out.push_back(n == 1 ? 1 : -1);
  if (!ctx.attrs<ArgExtremumAttrs>().keepdims) out = Dims(std::max(out.rank() - 1, 0), -1);
  ctx.SetOutput(kOut, out, dtype);
}

inline void InferShape(InferContext& ctx) {
  const ArgExtremumAttrs& a = ctx.attrs<ArgExtremumAttrs>();
  const Dims& x = ctx.dims(kX);
  DType dtype = a.dtype == DType::kUnset ? DType::kInt64 : a.dtype;
  ENFORCE(dtype == DType::kInt64 || dtype == DType::kInt32, Type,
          "the attribute dtype must be int32 or int64, got ", dtype);
  if (!ctx.runtime() && !a.flatten && IsOpen(a.axis)) return SetOpenOutput(ctx, dtype);
  int axis = NormalizeAxis(a.axis, x.rank());
  Dims out;
  for (int i = 0; i < x.rank(); ++i) {
    bool gone = a.flatten || i == axis;
    ENFORCE(!gone || x[i] != 0, InvalidArgument, "X must have elements to choose from, got shape ",
            x);
    if (!gone)
      out.push_back(x[i]);
    else if (a.keepdims)
      out.push_back(1);
  }
  ctx.SetOutput(kOut, out, dtype);
}

// Rows stay where the axis to search is another one.
inline bool KeepsRows(const LoDCall& c) {
  const ArgExtremumAttrs& a = c.attrs<ArgExtremumAttrs>();
  return !a.flatten && !IsOpen(a.axis) && c.IsBehindFirst(a.axis);
}

inline void Define(OpDef& op, const char* comment, const char* example) {
  op.Comment(comment)
      .Example(example)
      .Input(kX, "X", "any shape")
      .Output(kOut, "Out", "X's shape without the axis")
      .Attr(&ArgExtremumAttrs::axis, "axis", "the axis to search; negative ones count from the end")
      .Attr(&ArgExtremumAttrs::keepdims, "keepdims", "keep the axis, with one element")
      .Attr(&ArgExtremumAttrs::flatten, "flatten", "search all of X as if it had one axis")
      .Attr(&ArgExtremumAttrs::dtype, "dtype", "int32 or int64; unset: int64")
      .ShareLoD(kX)
      .Shape(InferShape)
      .NoGrad();
}

// The greatest (kMax) or least element along the axis; a NaN wins over all, the first of equals over
// the others.
template <class T, bool kMax>
void Compute(KernelContext& ctx) {
  const ArgExtremumAttrs& a = ctx.attrs<ArgExtremumAttrs>();
  const Tensor& x = ctx.In(kX);
  Tensor& out = ctx.Out(kOut);
  int64_t rows = 1, n = x.numel(), inner = 1;
  if (!a.flatten && x.rank() > 0) {
    int axis = NormalizeAxis(a.axis, x.rank());
    rows = Numel(x.dims(), 0, axis);
    n = x.dim(axis);
    inner = Numel(x.dims(), axis + 1, x.rank());
  }
  if (out.dtype() == DType::kInt32) {
    ENFORCE(n <= INT32_MAX, OutOfRange, "an axis of ", n, " elements needs dtype int64, got int32");
    Search<kMax>(x.data<T>(), rows, n, inner, out.mutable_data<int32_t>());
  } else {
    Search<kMax>(x.data<T>(), rows, n, inner, out.mutable_data<int64_t>());
  }
}

}  // namespace dygraph::arg_extremum

// gather and index_select: whole slices along one axis, by number.
#pragma once

#include "op/lod_rule.h"
#include "operators/index/indexing.h"

namespace dygraph::gather {

using indexing::CheckedIndices;
using indexing::IndexList;

constexpr int kX = 0, kIndex = 1, kOut = 0;
namespace grad {
constexpr int kX = 0, kIndex = 1, kOutGrad = 2, kXGrad = 0;
}

// Whether Out's rows are those of the input asked about: Index's along axis 0, else X's.
inline bool GivesRows(const LoDCall& c, int64_t axis) {
  const int rank = c.call.in.at(kX)->dims().rank();
  return (axis == 0 || axis == -rank) == (c.slot == kIndex);
}

// Number of indices and the axes they make: [n] or [n, 1] make one, [] none.
inline Dims IndexAxes(const Dims& index) {
  ENFORCE(index.rank() <= 1 || (index.rank() == 2 && (index[1] == 1 || index[1] < 0)),
          InvalidArgument, "Index must have shape [n], [n, 1] or [], got ", index);
  return index.empty() ? Dims() : Dims{index[0]};
}

inline void InferShape(InferContext& ctx, int64_t axis_number) {
  const Dims& x = ctx.dims(kX);
  ENFORCE(!x.empty(), InvalidArgument, "X must have at least one axis to take from, got shape []");
  int axis = NormalizeAxis(axis_number, x.rank());
  Dims index = IndexAxes(ctx.dims(kIndex)), out;
  for (int i = 0; i < x.rank(); ++i) {
    if (i != axis) {
      out.push_back(x[i]);
    } else if (!index.empty()) {
      out.push_back(index[0]);
    }
  }
  ctx.SetOutput(kOut, out, ctx.dtype(kX));
}

inline kernels::RowShape RowsOf(const Dims& x, int axis) {
  return {Numel(x, 0, axis), x[axis], Numel(x, axis + 1, x.rank())};
}

inline void Take(KernelContext& ctx, int64_t axis_number) {
  const Tensor& x = ctx.In(kX);
  int axis = NormalizeAxis(axis_number, x.rank());
  IndexList list = CheckedIndices(ctx, kIndex, x.dim(axis), "the size of the axis of X");
  kernels::TakeRows(RowsOf(x.dims(), axis), x.raw_data(), list.data, list.size,
                    ctx.Out(kOut).mutable_raw_data(), SizeOf(x.dtype()));
}

template <class T>
void AddBack(KernelContext& ctx, int64_t axis_number) {
  const Dims& x = ctx.In(grad::kX).dims();
  const Tensor& g = ctx.In(grad::kOutGrad);
  int axis = NormalizeAxis(axis_number, x.rank());
  IndexList list = CheckedIndices(ctx, grad::kIndex, x[axis], "the size of the axis of X");
  kernels::RowShape rows = RowsOf(x, axis);
  ENFORCE(g.numel() == rows.outer * list.size * rows.width, InvalidArgument,
          "Out@GRAD must have the shape of Out, that of X ", x, " with ", list.size,
          " for the size of axis ", axis, ", got ", g.dims());
  Tensor& out = ctx.Out(grad::kXGrad);
  Clear(&out);
  kernels::AddRows(rows, out.mutable_data<T>(), list.data, list.size, g.data<T>());
}

inline void InferGradShape(InferContext& ctx) {
  ENFORCE(!ctx.dims(grad::kX).empty(), InvalidArgument,
          "X must have at least one axis to take from, got shape []");
  IndexAxes(ctx.dims(grad::kIndex));
  ctx.SetOutput(grad::kXGrad, ctx.dims(grad::kX), ctx.dtype(grad::kX));
}

// Slots, shape and gradient; the caller adds comment and attributes. `type` is the forward's name.
inline OpDef& DefineSlots(OpDef& op) {
  return op.Input(kX, "X", "at least one axis")
      .Input(kIndex, "Index", "[n], [n, 1] or [], int32 or int64; negative ones count from the end")
      .Output(kOut, "Out", "shape of X with n for the size of the axis; without the axis for []")
      .KernelDTypeOf(kX)
      .MixedDTypes();
}
inline OpDef& DefineGradSlots(OpDef& op, const char* forward) {
  return op
      .Comment(
          "X@GRAD = 0, and then X@GRAD[Index[i]] += Out@GRAD[i] along the axis, in order of i.")
      .Input(grad::kX, "X", "its shape")
      .Input(grad::kIndex, "Index", "as in the forward call")
      .Input(grad::kOutGrad, "Out@GRAD", "shape of Out")
      .Output(grad::kXGrad, "X@GRAD", "shape of X")
      .AttrsOf(forward)
      .Shape(InferGradShape)
      .KernelDTypeOf(grad::kOutGrad)
      .MixedDTypes();
}

}  // namespace dygraph::gather

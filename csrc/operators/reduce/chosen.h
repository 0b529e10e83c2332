// The slots of kthvalue and mode: of each line along an axis one element, and where it stood.
#pragma once

#include "op/op_registry.h"

namespace dygraph::chosen {

constexpr int kX = 0, kOut = 0, kIndices = 1;

inline OpDef& AddSlots(OpDef& op) {
  return op.Input(kX, "X", "any shape")
      .Output(kOut, "Out", "shape of X without the axis")
      .Output(kIndices, "Indices", "shape of Out, int64")
      .ShareLoD(kX);
}

// Sets the shapes of the outputs; gives the number of elements along the axis, -1 where unknown.
inline int64_t InferShape(InferContext& ctx, int64_t axis_number, bool keepdim) {
  const Dims& x = ctx.dims(kX);
  const int axis = NormalizeAxis(axis_number, x.rank());
  const int64_t n = x.empty() ? 1 : x[axis];
  ENFORCE(n != 0, InvalidArgument, "X must have elements along the axis, got shape ", x);
  Dims out;
  for (int i = 0; i < x.rank(); ++i) {
    if (i != axis) {
      out.push_back(x[i]);
    } else if (keepdim) {
      out.push_back(1);
    }
  }
  ctx.SetOutput(kOut, out);
  ctx.SetOutput(kIndices, out, DType::kInt64);
  return n;
}

// X@GRAD = Out@GRAD where the element stood: the gradient of kthvalue serves both.
inline void Grad(GradBuilder& g, int32_t axis, bool keepdim) {
  g.Call("kthvalue_grad", {g.InputShape(kX), g.Output(kIndices), g.OutputGrad(kOut)},
         {g.InputGrad(kX)})
      .Attr("axis", axis)
      .Attr("keepdim", keepdim);
}

}  // namespace dygraph::chosen

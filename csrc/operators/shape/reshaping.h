// What the operators share that give the elements of X another shape: reshape, squeeze, unsqueeze,
// flatten. None copies: Out shares X's storage.
#pragma once

#include "op/lod_rule.h"
#include "operators/arguments.h"

namespace dygraph::reshaping {

constexpr int kX = 0, kOut = 0, kXShape = 1;

// After the inputs. The operators named ...2 have the output XShape, of which Fluid's gradients
// read the shape of X.
inline OpDef& DeclareOutputs(OpDef& op, bool x_shape, ShapeRule rule) {
  op.Output(kOut, "Out", "the elements of X");
  if (x_shape) op.Output(kXShape, "XShape", "no elements, shape [0] + X's", kIntermediate | kExtra);
  return op.Shape(rule)
      .MixedDTypes()
      .KernelAllocates()
      .ShareLoD(kX)
      .MayShare(kX, kOut)
      .Grad([](GradBuilder& g) {
        g.Call("reshape2_grad", {g.InputShape(kX), g.OutputGrad(kOut)}, {g.InputGrad(kX)});
      });
}

// As many rows as X are X's rows. Where their number is not known, the elements of a row decide.
inline bool KeepsRows(const LoDCall& c) {
  if (c.out_slot != kOut) return false;
  if (c.from.dim(0) >= 0) return true;
  int64_t numbers[] = {1, 1}, unknown[] = {0, 0};
  const Dims* dims[] = {&c.from.dims(), &c.out.dims()};
  for (int k = 0; k < 2; ++k) {
    for (int i = 1; i < dims[k]->rank(); ++i) {
      int64_t size = (*dims[k])[i];
      size < 0 ? ++unknown[k] : numbers[k] *= size;
    }
  }
  return numbers[0] == numbers[1] && unknown[0] == unknown[1];
}

inline void SetOutputs(InferContext& ctx, const Dims& out) {
  ctx.SetOutput(kOut, out);
  if (ctx.call().op->outputs.size() == 1) return;
  const Dims& x = ctx.dims(kX);
  Dims x_shape = {0};
  x_shape.Append(x.begin(), x.end());
  ctx.SetOutput(kXShape, x_shape);
}

// The shape of X from XShape.
inline Dims ShapeInXShape(const Dims& x_shape) {
  ENFORCE(x_shape.rank() > 0, InvalidArgument, "XShape must have the shape [0] + X's, got []");
  return Dims(Span<const int64_t>(x_shape.begin() + 1, x_shape.size() - 1));
}

template <class>
struct Kernel {
  static void Compute(KernelContext& ctx) {
    if (Tensor* out = ctx.OutOrNull(kOut)) out->ShareData(ctx.In(kX));
    if (ctx.call().op->outputs.size() == 1) return;
    if (Tensor* x_shape = ctx.OutOrNull(kXShape)) x_shape->AllocateData(ctx.place());
  }
};

}  // namespace dygraph::reshaping

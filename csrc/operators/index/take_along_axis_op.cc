#include "op/gradient_call.h"
#include "op/lod_rule.h"
#include "operators/index/along_axis.h"

namespace dygraph::indexing {
namespace {

constexpr int kInput = 0, kIndex = 1, kResult = 0;

struct TakeAlongAxisAttrs {
  int32_t axis = 0;
};

int AxisOf(const TakeAlongAxisAttrs& a, const Dims& x) {
  ENFORCE(!x.empty(), InvalidArgument, "Input must have an axis to take along, got shape []");
  return NormalizeAxis(a.axis, x.rank(), "Axis");
}

void InferShape(InferContext& ctx) {
  const Dims& x = ctx.dims(kInput);
  int axis = AxisOf(ctx.attrs<TakeAlongAxisAttrs>(), x);
  ctx.SetOutput(kResult, AlongDims(x, ctx.dims(kIndex), axis, "Input"), ctx.dtype(kInput));
}

void DefineTakeAlongAxis(OpDef& op) {
  op.Comment(
        "Result[i, j, k] = Input[i, Index[i, j, k], k], here for Axis 1: elements by their "
        "number along the axis, as numpy.take_along_axis. Gradients of an element taken more "
        "than once add up.")
      .Example(
          ">>> x = to_variable([[10.0, 30.0, 20.0], [60.0, 40.0, 50.0]])\n"
          ">>> F.take_along_axis(x, to_variable([[0, 2, 1], [1, 2, 0]]), Axis=1).tolist()\n"
          "[[10.0, 20.0, 30.0], [40.0, 50.0, 60.0]]")
      .Input(kInput, "Input", "at least one axis")
      .Input(kIndex, "Index",
             "axes of Input, each of its size, 1, which repeats, or smaller, which takes from the "
             "leading part, but along Axis; negative ones count from the end")
      .Output(kResult, "Result", "shape of Index, repeated")
      .Attr(&TakeAlongAxisAttrs::axis, "Axis", "the axis to take along")
      .ShareLoD(kInput)
      .Shape(InferShape)
      .KernelDTypeOf(kInput)
      .MixedDTypes()
      .Grad(CallGradient);
}

template <class T>
struct TakeAlongAxisKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kInput);
    TakeAlong(ctx, kInput, kIndex, AxisOf(ctx.attrs<TakeAlongAxisAttrs>(), x.dims()),
              &ctx.Out(kResult));
  }
};

namespace grad {
constexpr int kInput = 0, kIndex = 1, kResultGrad = 2, kInputGrad = 0;

void DefineTakeAlongAxisGrad(OpDef& op) {
  op.Comment("Input@GRAD = 0, and then Result@GRAD is added where Index took it from, in order.")
      .Input(kInput, "Input", "its shape", kShapeOnly)
      .Input(kIndex, "Index", "as in the forward call")
      .Input(kResultGrad, "Result@GRAD", "shape of Result")
      .Output(kInputGrad, "Input@GRAD", "shape of Input")
      .AttrsOf("take_along_axis")
      .SameShape(kInput, kInputGrad)
      .KernelDTypeOf(kResultGrad)
      .MixedDTypes()
      .Grad([](GradBuilder& g) {
        g.Call("take_along_axis", {g.OutputGrad(kInputGrad), g.Input(kIndex)},
               {g.InputGrad(kResultGrad)})
            .SameAttrs();
      });
}

template <class T>
struct TakeAlongAxisGradKernel {
  static void Compute(KernelContext& ctx) {
    Tensor& out = ctx.Out(kInputGrad);
    AddAlong<T>(ctx, kInput, kIndex, kResultGrad,
                AxisOf(ctx.attrs<TakeAlongAxisAttrs>(), out.dims()), &out);
  }
};
}  // namespace grad

REGISTER_OPERATOR(take_along_axis, DefineTakeAlongAxis);
REGISTER_LOD_ALSO(take_along_axis, kIndex);
REGISTER_LOD_RULE(take_along_axis, [](const LoDCall& c) {
  return c.slot == kIndex || c.IsBehindFirst(c.attrs<TakeAlongAxisAttrs>().axis);
});
REGISTER_KERNELS(take_along_axis, TakeAlongAxisKernel, AllTypes);
REGISTER_OPERATOR(take_along_axis_grad, grad::DefineTakeAlongAxisGrad);
REGISTER_KERNELS(take_along_axis_grad, grad::TakeAlongAxisGradKernel, float, double, complex64,
                 complex128);

}  // namespace
}  // namespace dygraph::indexing

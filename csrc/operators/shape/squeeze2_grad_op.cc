// The gradients of squeeze2, unsqueeze2, flatten2 and flatten_contiguous_range as Fluid and Paddle
// write them, from XShape. Our own recipes call reshape2_grad.
#include "operators/shape/reshaping.h"

namespace dygraph::reshaping {
namespace {

constexpr int kXShapeIn = 0, kOutGrad = 1, kXGrad = 0;

void InferShape(InferContext& ctx) { ctx.SetOutput(kXGrad, ShapeInXShape(ctx.dims(kXShapeIn))); }

void DefineGradOf(OpDef& op, const char* forward) {
  op.Comment("X@GRAD = Out@GRAD in the shape of X.")
      .Input(kXShapeIn, "XShape", "[0] + the shape of X")
      .Input(kOutGrad, "Out@GRAD", "as many elements")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf(forward)
      .Shape(InferShape)
      .KernelDTypeOf(kOutGrad)
      .KernelAllocates()
      .MayShare(kOutGrad, kXGrad)
      .Grad([](GradBuilder& g) {
        g.Call("reshape2_grad", {g.InputShape(kOutGrad), g.OutputGrad(kXGrad)},
               {g.InputGrad(kOutGrad)});
      });
}
void DefineSqueeze2Grad(OpDef& op) { DefineGradOf(op, "squeeze2"); }
void DefineUnsqueeze2Grad(OpDef& op) { DefineGradOf(op, "unsqueeze2"); }
void DefineFlatten2Grad(OpDef& op) { DefineGradOf(op, "flatten2"); }
void DefineFlattenRangeGrad(OpDef& op) { DefineGradOf(op, "flatten_contiguous_range"); }

template <class>
struct FromXShapeKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& g = ctx.In(kOutGrad);
    Tensor& out = ctx.Out(kXGrad);
    ENFORCE(g.numel() == out.numel(), InvalidArgument,
            "Out@GRAD must have as many elements as X, whose shape XShape holds, ", out.dims(),
            ", got shape ", g.dims());
    out.ShareData(g);
  }
};

REGISTER_OPERATOR(squeeze2_grad, DefineSqueeze2Grad);
REGISTER_KERNELS(squeeze2_grad, FromXShapeKernel, float, double, complex64, complex128);
REGISTER_DEVICE_TYPES(squeeze2_grad, FromXShapeKernel, float16, bfloat16);
REGISTER_OPERATOR(unsqueeze2_grad, DefineUnsqueeze2Grad);
REGISTER_KERNELS(unsqueeze2_grad, FromXShapeKernel, float, double, complex64, complex128);
REGISTER_DEVICE_TYPES(unsqueeze2_grad, FromXShapeKernel, float16, bfloat16);
REGISTER_OPERATOR(flatten2_grad, DefineFlatten2Grad);
REGISTER_KERNELS(flatten2_grad, FromXShapeKernel, float, double, complex64, complex128);
REGISTER_DEVICE_TYPES(flatten2_grad, FromXShapeKernel, float16, bfloat16);
REGISTER_OPERATOR(flatten_contiguous_range_grad, DefineFlattenRangeGrad);
REGISTER_KERNELS(flatten_contiguous_range_grad, FromXShapeKernel, float, double, complex64,
                 complex128);
REGISTER_DEVICE_TYPES(flatten_contiguous_range_grad, FromXShapeKernel, float16, bfloat16);

}  // namespace
}  // namespace dygraph::reshaping

#include "operators/detection/deformable.h"

namespace dygraph::deformable {
namespace {

constexpr bool kMasked = true;

void DefineDeformableConv(OpDef& op) {
  op.Comment(
        "A convolution whose taps are moved by Offset, a height and a width for each tap and "
        "place, "
        "and multiplied by Mask (Zhu et al., Deformable ConvNets v2, 2019). Input is bilinear "
        "between its pixels and 0 outside.")
      .Example(
          ">>> x = to_variable(np.arange(9.0).reshape(1, 1, 3, 3))\n"
          ">>> offset = to_variable(np.full((1, 2, 3, 3), 0.5))\n"
          ">>> F.deformable_conv(x, offset, to_variable(np.ones((1, 1, 1, 1)))).tolist()\n"
          "[[[[2.0, 3.0, 1.75], [5.0, 6.0, 3.25], [3.25, 3.75, 2.0]]]]");
  AddInputs(op, kMasked, true).Output(kOutput, "Output", "[N, out channels, H', W']");
  AddAttrs(op)
      .Shape([](InferContext& ctx) { ctx.SetOutput(kOutput, OutDims(ctx, kMasked)); })
      .ShareLoD(kInput)
      .Grad(CallGradient);
}

template <class T>
struct DeformableConvKernel {
  static void Compute(KernelContext& ctx) { Forward<T>(ctx, kMasked); }
};

namespace grad {
constexpr int kTop = 4;

void DefineDeformableConvGrad(OpDef& op) {
  op.Comment(
      "The gradients of deformable_conv: those of a convolution of the moved pixels, passed on to "
      "the "
      "pixels by their weights and to the offsets by the slopes between pixels.");
  AddInputs(op, kMasked, false)
      .Input(kTop, "Output@GRAD", "shape of Output")
      .Output(kInput, "Input@GRAD", "shape of Input")
      .Output(kOffset, "Offset@GRAD", "shape of Offset")
      .Output(kFilter, "Filter@GRAD", "shape of Filter");
  if (kMasked) op.Output(kMask, "Mask@GRAD", "shape of Mask");
  op.AttrsOf("deformable_conv")
      .Shape([](InferContext& ctx) {
        OutDims(ctx, kMasked);
        for (int slot = 0; slot < kTop; ++slot) {
          if (ctx.HasInput(slot)) ctx.SetOutput(slot, ctx.dims(slot));
        }
      })
      .Grad(CallGradient);
}

template <class T>
struct DeformableConvGradKernel {
  static void Compute(KernelContext& ctx) { Backward<T>(ctx, kMasked, kTop); }
};
}  // namespace grad

namespace grad_grad {
constexpr int kTop = grad::kTop, kV = kTop + 1, kTopResult = kTop;

void DefineDeformableConvGradGrad(OpDef& op);

struct DeformableConvThird {
  static constexpr uint32_t kServes = (1u << (kV + kTop)) - 1;
  static void Define(OpDef& op) { DefineDeformableConvGradGrad(op); }
  static std::vector<higher::Input> Inputs(const KernelContext&) {
    std::vector<higher::Input> list;
    for (int slot = 0; slot < kTop; ++slot) list.push_back({slot, kV + slot, slot});
    return list;
  }
  static std::vector<higher::Result> Results(const KernelContext&) { return {{kTop, kTopResult}}; }
  static void Run(higher::Problem& p) { RunHigher(p, kMasked); }
};

void DefineDeformableConvGradGrad(OpDef& op) {
  op.Comment("What deformable_conv_grad gives its inputs for directions of its results.");
  AddInputs(op, kMasked, false)
      .Input(kTop, "Output@GRAD", "shape of Output")
      .Input(kV + kInput, "Input@GRAD@GRAD", "shape of Input", kDispensable)
      .Input(kV + kOffset, "Offset@GRAD@GRAD", "shape of Offset", kDispensable)
      .Input(kV + kFilter, "Filter@GRAD@GRAD", "shape of Filter", kDispensable);
  if (kMasked) op.Input(kV + kMask, "Mask@GRAD@GRAD", "shape of Mask", kDispensable);
  op.Output(kInput, "Input@GRAD", "shape of Input")
      .Output(kOffset, "Offset@GRAD", "shape of Offset")
      .Output(kFilter, "Filter@GRAD", "shape of Filter");
  if (kMasked) op.Output(kMask, "Mask@GRAD", "shape of Mask");
  op.Output(kTopResult, "Output@GRAD@GRAD", "shape of Output")
      .AttrsOf("deformable_conv")
      .Shape([](InferContext& ctx) {
        ctx.SetOutput(kTopResult, OutDims(ctx, kMasked));
        for (int slot = 0; slot < kTop; ++slot) {
          if (ctx.HasInput(slot)) ctx.SetOutput(slot, ctx.dims(slot));
        }
      })
      .Grad(higher::Recipe<DeformableConvThird>);
}

template <class T>
using DeformableConvGradGradKernel = higher::SecondKernel<DeformableConvThird, T>;
}  // namespace grad_grad
using grad_grad::DeformableConvThird;

REGISTER_OPERATOR(deformable_conv, DefineDeformableConv);
REGISTER_CPU_KERNEL(deformable_conv, DeformableConvKernel, float, double);
REGISTER_OPERATOR(deformable_conv_grad, grad::DefineDeformableConvGrad);
REGISTER_CPU_KERNEL(deformable_conv_grad, grad::DeformableConvGradKernel, float, double);
REGISTER_OPERATOR(deformable_conv_grad_grad, grad_grad::DefineDeformableConvGradGrad);
REGISTER_CPU_KERNEL(deformable_conv_grad_grad, grad_grad::DeformableConvGradGradKernel, float,
                    double);
REGISTER_THIRD_GRADIENT(deformable_conv_grad_grad, DeformableConvThird);

}  // namespace
}  // namespace dygraph::deformable

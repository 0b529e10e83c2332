#include "op/gradient_shapes.h"
#include "op/lod_rule.h"
#include "operators/norm/batch_norm_forms.h"

namespace dygraph {
namespace {

constexpr batch_norm::Slots kSlots = {1};
constexpr int kX = 0, kZ = 1, kScale = 2, kBias = 3, kMean = 4, kVariance = 5;

void DefineFusedBnAddActivation(OpDef& op) {
  op.Comment(
        "Y = relu(batch_norm(X) + Z), the end of a residual block, in one pass over the memory: "
        "the "
        "bits of batch_norm, elementwise_add and relu one after the other.")
      .Example(
          ">>> x, z = to_variable([[2.0], [6.0]]), to_variable([[0.5], [0.5]])\n"
          ">>> one, none = to_variable([1.0]), to_variable([0.0])\n"
          ">>> F.fused_bn_add_activation(x, z, one, none, none, one)[0].numpy().round(2).tolist()\n"
          "[[0.0], [1.5]]")
      .Input(kX, "X", "2 to 5 axes, the channels second, or last with data_layout NHWC")
      .Input(kZ, "Z", "shape of X")
      .Input(kScale, "Scale", "[C]", kWide)
      .Input(kBias, "Bias", "[C]", kWide)
      .Input(kMean, "Mean", "[C], the running mean", kWide)
      .Input(kVariance, "Variance", "[C], the running variance", kWide);
  batch_norm::Activation(batch_norm::AllAttrs(batch_norm::Outputs(op)))
      .Shape([](InferContext& ctx) { batch_norm::InferShape(ctx, kSlots); })
      .KeepsLayout()
      .ShareLoD(kX)
      .InPlace(kX, batch_norm::kY)
      .InPlace(kMean, batch_norm::kMeanOut)
      .InPlace(kVariance, batch_norm::kVarianceOut)
      .Grad([](GradBuilder& g) {
        g.Call("fused_bn_add_activation_grad",
               {g.Output(batch_norm::kY), g.Input(kX), g.Input(kScale),
                g.Output(batch_norm::kSavedMean), g.Output(batch_norm::kSavedVariance),
                g.OutputGrad(batch_norm::kY)},
               {g.InputGrad(kX), g.InputGrad(kScale), g.InputGrad(kBias), g.InputGrad(kZ)})
            .SameAttrs();
      });
}

template <class T>
struct FusedBnAddActivationKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<batch_norm::BatchNormAttrs>();
    batch_norm::Normalize<T>(ctx, kSlots, true, NumberFor<kernels::Wide<T>>(a.momentum));
  }
};

void DefineFusedBnAddActivationGrad(OpDef& op) {
  op.Comment(
      "With g = Y@GRAD where Y > 0, else 0: Z@GRAD = g, and the other results are those of "
      "batch_norm_grad of g.");
  batch_norm::fused_grad::Define(op, "fused_bn_add_activation", true);
  op.Shape(batch_norm::fused_grad::InferShape<true>).Grad(batch_norm::fused_grad::Recipe<true>);
}

template <class T>
struct FusedBnAddActivationGradKernel {
  static void Compute(KernelContext& ctx) { batch_norm::fused_grad::Compute<T, true>(ctx); }
};

bool MakeEpilogue(const Call& call, Epilogue* to) {
  return batch_norm::MakeEpilogue(call, kSlots, true, to);
}
REGISTER_EPILOGUE(fused_bn_add_activation, MakeEpilogue);
REGISTER_GRADIENT_SHAPES(fused_bn_add_activation, {"Z", "X"}, {"Bias", "Scale"}, {"Mean", "Scale"},
                         {"Variance", "Scale"});
REGISTER_OPERATOR(fused_bn_add_activation, DefineFusedBnAddActivation);
REGISTER_LOD_ALSO(fused_bn_add_activation, kZ);
REGISTER_LOD_RULE(fused_bn_add_activation, RowsOfFirstOutput);
REGISTER_KERNELS(fused_bn_add_activation, FusedBnAddActivationKernel, float, double);
REGISTER_DEVICE_TYPES(fused_bn_add_activation, FusedBnAddActivationKernel, float16, bfloat16);
REGISTER_OPERATOR(fused_bn_add_activation_grad, DefineFusedBnAddActivationGrad);
REGISTER_KERNELS(fused_bn_add_activation_grad, FusedBnAddActivationGradKernel, float, double);
REGISTER_DEVICE_TYPES(fused_bn_add_activation_grad, FusedBnAddActivationGradKernel, float16,
                      bfloat16);

}  // namespace
}  // namespace dygraph

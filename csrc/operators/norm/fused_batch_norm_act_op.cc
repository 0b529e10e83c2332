#include "op/gradient_shapes.h"
#include "op/lod_rule.h"
#include "operators/norm/batch_norm_forms.h"

namespace dygraph {
namespace {

constexpr batch_norm::Slots kSlots = {-1};
constexpr int kX = 0, kScale = 1, kBias = 2, kMean = 3, kVariance = 4;

void DefineFusedBatchNormAct(OpDef& op) {
  op.Comment(
        "Y = relu(batch_norm(X)) in one pass over the memory: the bits of batch_norm and relu one "
        "after the other.")
      .Example(
          ">>> x, one, none = to_variable([[2.0], [6.0]]), to_variable([1.0]), to_variable([0.0])\n"
          ">>> F.fused_batch_norm_act(x, one, none, none, one)[0].numpy().round(2).tolist()\n"
          "[[0.0], [1.0]]")
      .Input(kX, "X", "2 to 5 axes, the channels second, or last with data_layout NHWC")
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
        g.Call("fused_batch_norm_act_grad",
               {g.Output(batch_norm::kY), g.Input(kX), g.Input(kScale),
                g.Output(batch_norm::kSavedMean), g.Output(batch_norm::kSavedVariance),
                g.OutputGrad(batch_norm::kY)},
               {g.InputGrad(kX), g.InputGrad(kScale), g.InputGrad(kBias)})
            .SameAttrs();
      });
}

template <class T>
struct FusedBatchNormActKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<batch_norm::BatchNormAttrs>();
    batch_norm::Normalize<T>(ctx, kSlots, true, NumberFor<kernels::Wide<T>>(a.momentum));
  }
};

void DefineFusedBatchNormActGrad(OpDef& op) {
  op.Comment("The results of batch_norm_grad of g, which is Y@GRAD where Y > 0, else 0.");
  batch_norm::fused_grad::Define(op, "fused_batch_norm_act", false);
  op.Shape(batch_norm::fused_grad::InferShape<false>).Grad(batch_norm::fused_grad::Recipe<false>);
}

template <class T>
struct FusedBatchNormActGradKernel {
  static void Compute(KernelContext& ctx) { batch_norm::fused_grad::Compute<T, false>(ctx); }
};

bool MakeEpilogue(const Call& call, Epilogue* to) {
  return batch_norm::MakeEpilogue(call, kSlots, true, to);
}
REGISTER_EPILOGUE(fused_batch_norm_act, MakeEpilogue);
REGISTER_GRADIENT_SHAPES(fused_batch_norm_act, {"Bias", "Scale"}, {"Mean", "Scale"},
                         {"Variance", "Scale"});
REGISTER_OPERATOR(fused_batch_norm_act, DefineFusedBatchNormAct);
REGISTER_LOD_RULE(fused_batch_norm_act, RowsOfFirstOutput);
REGISTER_KERNELS(fused_batch_norm_act, FusedBatchNormActKernel, float, double);
REGISTER_DEVICE_TYPES(fused_batch_norm_act, FusedBatchNormActKernel, float16, bfloat16);
REGISTER_OPERATOR(fused_batch_norm_act_grad, DefineFusedBatchNormActGrad);
REGISTER_KERNELS(fused_batch_norm_act_grad, FusedBatchNormActGradKernel, float, double);
REGISTER_DEVICE_TYPES(fused_batch_norm_act_grad, FusedBatchNormActGradKernel, float16, bfloat16);

}  // namespace
}  // namespace dygraph

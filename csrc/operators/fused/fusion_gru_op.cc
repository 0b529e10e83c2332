#include "operators/fused/fused.h"
#include "operators/recurrent/packed_batch.h"

namespace dygraph::fused {
namespace {

constexpr int kX = 0, kH0 = 1, kWeightX = 2, kWeightH = 3, kBias = 4;
constexpr int kReorderedH0 = 0, kXX = 1, kBatchedInput = 2, kBatchedOut = 3, kHidden = 4;

struct FusionGruAttrs {
  std::string activation = "tanh";
  std::string gate_activation = "sigmoid";
  bool is_reverse = false;
  bool use_seq = true;
  bool origin_mode = false;
};

void InferShape(InferContext& ctx) {
  const Dims &x = ctx.dims(kX), &h = ctx.dims(kWeightH);
  ENFORCE(x.rank() == 2, InvalidArgument, "X must have shape [rows, M], got ", x);
  ENFORCE(h.rank() == 2, InvalidArgument, "WeightH must have shape [D, 3 * D], got ", h);
  const int64_t d = h[0], gates = MulSizes(d, 3);
  CheckMatrix(ctx, kWeightH, d, gates, "[D, 3 * D]");
  CheckMatrix(ctx, kWeightX, x[1], gates, "[M, 3 * D]");
  if (ctx.HasInput(kBias)) CheckMatrix(ctx, kBias, 1, gates, "[1, 3 * D]");
  ctx.SetOutput(kHidden, {x[0], d});
  ctx.SetOutput(kXX, {x[0], gates});
  SetUnused(ctx, {kReorderedH0, kBatchedInput, kBatchedOut});
}

void DefineFusionGru(OpDef& op) {
  op.Comment(
        "Hidden = gru(X WeightX, H0, WeightH, Bias): dynamic_gru with the product in front of it. "
        "For inference: no gradient passes.")
      .Example(
          ">>> x = to_variable([[1.0], [1.0]], lod=[[0, 2]])\n"
          ">>> to_gates, zero = to_variable([[0.0, 0.0, 4.0]]), to_variable([[0.0] * 3])\n"
          ">>> F.fusion_gru(x, to_gates, zero, activation=\"identity\").tolist()\n"
          "[[2.0], [3.0]]")
      .Input(kX, "X", "[rows, M] with LoD")
      .Input(kH0, "H0", "[sequences, D], the first hidden states; 0 where absent", kDispensable)
      .Input(kWeightX, "WeightX", "[M, 3 * D], to u, r, m")
      .Input(kWeightH, "WeightH",
             "[D, 3 * D]: its first 2 * D * D numbers are [D, 2 * D] for u and r, the rest [D, D] "
             "for m")
      .Input(kBias, "Bias", "[1, 3 * D]", kDispensable)
      .Output(kReorderedH0, "ReorderedH0", "of programs: nothing", kIntermediate)
      .Output(kXX, "XX", "X WeightX", kIntermediate)
      .Output(kBatchedInput, "BatchedInput", "of programs: nothing", kIntermediate)
      .Output(kBatchedOut, "BatchedOut", "of programs: nothing", kIntermediate)
      .Output(kHidden, "Hidden", "[rows, D], the LoD of X")
      .Attr(&FusionGruAttrs::activation, "activation", "of the candidate m",
            recurrent::AnActivation())
      .Attr(&FusionGruAttrs::gate_activation, "gate_activation", "of u and r",
            recurrent::AnActivation())
      .Attr(&FusionGruAttrs::is_reverse, "is_reverse",
            "from the last row of a sequence to its first")
      .Attr(&FusionGruAttrs::use_seq, "use_seq", "of programs")
      .Attr(&FusionGruAttrs::origin_mode, "origin_mode", "u keeps the past, not the candidate")
      .Shape(InferShape)
      .KernelAllocates()
      .NoGrad();
}

template <class T>
struct FusionGruKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<FusionGruAttrs>();
    Value own;
    Value* product = OutputOr(ctx, kXX, &own);
    PartCall(ctx, "mul").In(ctx.InValue(kX)).In(ctx.InValue(kWeightX)).Out(product).Run();
    product->MutableTensor().SetLoD(ctx.In(kX).lod_ref());
    PartCall(ctx, "gru")
        .In(*product)
        .In(InputOrNull(ctx, kH0))
        .In(ctx.InValue(kWeightH))
        .In(InputOrNull(ctx, kBias))
        .Out(nullptr)
        .Out(nullptr)
        .Out(nullptr)
        .Out(&ctx.OutValue(kHidden))
        .Attr("activation", a.activation)
        .Attr("gate_activation", a.gate_activation)
        .Attr("is_reverse", a.is_reverse)
        .Attr("origin_mode", a.origin_mode)
        .Run();
    FillUnused(ctx, {kReorderedH0, kBatchedInput, kBatchedOut});
  }
};

REGISTER_OPERATOR(fusion_gru, DefineFusionGru);
REGISTER_KERNELS(fusion_gru, FusionGruKernel, float, double);

}  // namespace
}  // namespace dygraph::fused

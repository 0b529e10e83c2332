#include "operators/fused/fused.h"
#include "operators/sequence/sequence_context.h"

namespace dygraph::fused {
namespace {

constexpr int kX = 0, kFilter = 1, kBias = 2, kOut = 0, kColMat = 1;

struct SeqconvAttrs {
  int32_t contextLength = 1, contextStart = 0, contextStride = 1;
};

void InferShape(InferContext& ctx) {
  const auto& a = ctx.attrs<SeqconvAttrs>();
  const Dims& x = ctx.dims(kX);
  ENFORCE(x.rank() == 2, InvalidArgument, "X must have shape [rows, D], got ", x);
  const int64_t depth = MulSizes(x[1], a.contextLength);
  CheckMatrix(ctx, kFilter, depth, -1, "[contextLength * D, M]");
  const int64_t width = ctx.dims(kFilter)[1];
  const Dims& bias = ctx.dims(kBias);
  ENFORCE(bias.HasUnknown() || width < 0 || Numel(bias) == width, InvalidArgument,
          "Bias must hold a number for each of the ", width, " columns of Filter, got shape ",
          bias);
  ctx.SetOutput(kOut, {x[0], width});
  ctx.SetOutput(kColMat, {x[0], depth});
}

void DefineFusionSeqconvEltaddRelu(OpDef& op) {
  op.Comment(
        "Out = relu(sequence_conv(X, Filter) + Bias): rows i + contextStart ... i + contextStart + "
        "contextLength - 1 of X side by side, 0 beyond the ends of a sequence, times Filter. For "
        "inference: no gradient passes.")
      .Example(
          ">>> x = to_variable([[1.0], [2.0], [3.0]], lod=[[0, 2, 3]])\n"
          ">>> weight, bias = to_variable([[1.0], [10.0], [100.0]]), to_variable([-25.0])\n"
          ">>> F.fusion_seqconv_eltadd_relu(\n"
          "...     x, weight, bias, contextLength=3, contextStart=-1).tolist()\n"
          "[[185.0], [0.0], [5.0]]")
      .Input(kX, "X", "[rows, D] with LoD")
      .Input(kFilter, "Filter", "[contextLength * D, M]")
      .Input(kBias, "Bias", "[M] or [1, M]")
      .Output(kOut, "Out", "[rows, M]")
      .Output(kColMat, "ColMat", "[rows, contextLength * D], the rows side by side", kIntermediate)
      .Attr(&SeqconvAttrs::contextLength, "contextLength", "rows in a window", Between(1, 1 << 20))
      .Attr(&SeqconvAttrs::contextStart, "contextStart",
            "its first row, from the row it stands for", Between(-(1 << 20), 1 << 20))
      .Attr(&SeqconvAttrs::contextStride, "contextStride", "1", Between(1, 1))
      .Shape(InferShape)
      .ShareLoD(kX)
      .KernelAllocates()
      .NoGrad();
}

template <class T>
struct FusionSeqconvEltaddReluKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<SeqconvAttrs>();
    Value own;
    Value* context = OutputOr(ctx, kColMat, &own);
    PartCall(ctx, "sequence_context")
        .In(ctx.InValue(kX))
        .Out(context)
        .Attr("contextLength", a.contextLength)
        .Attr("contextStart", a.contextStart)
        .Run();
    PartCall(ctx, "fc")
        .In(*context)
        .In(ctx.InValue(kFilter))
        .In(ctx.InValue(kBias))
        .Out(&ctx.OutValue(kOut))
        .Attr("activation_type", std::string("relu"))
        .Run();
  }
};

REGISTER_OPERATOR(fusion_seqconv_eltadd_relu, DefineFusionSeqconvEltaddRelu);
REGISTER_KERNELS(fusion_seqconv_eltadd_relu, FusionSeqconvEltaddReluKernel, float, double);

}  // namespace
}  // namespace dygraph::fused

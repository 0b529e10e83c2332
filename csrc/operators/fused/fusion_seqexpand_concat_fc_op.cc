#include "operators/fused/fused.h"
#include "operators/sequence/sequence.h"

namespace dygraph::fused {
namespace {

constexpr int kX = 0, kWeight = 1, kBias = 2, kOut = 0, kFcOut = 1;

struct SeqexpandConcatFcAttrs {
  std::string fc_activation = "identity";
};

void InferShape(InferContext& ctx) {
  const int count = ctx.InputCount(kX);
  ENFORCE(count > 1, InvalidArgument, "X must hold at least two tensors, got ", count);
  int64_t width = 0;
  for (int i = 0; i < count; ++i) {
    const Dims& x = ctx.dims(kX, i);
    ENFORCE(x.rank() == 2, InvalidArgument, "each X must have shape [rows, columns], got ", x);
    width = AddSizes(width, x[1]);
  }
  CheckMatrix(ctx, kWeight, width, -1, "[columns of all X, M]");
  const int64_t m = ctx.dims(kWeight)[1];
  if (ctx.HasInput(kBias)) {
    const Dims& bias = ctx.dims(kBias);
    ENFORCE(bias.HasUnknown() || m < 0 || Numel(bias) == m, InvalidArgument,
            "FCBias must hold a number for each of the ", m, " columns of FCWeight, got shape ",
            bias);
  }
  ctx.SetOutput(kOut, {ctx.dims(kX, 0)[0], m});
  SetUnused(ctx, {kFcOut});
}

void DefineFusionSeqexpandConcatFc(OpDef& op) {
  op.Comment(
        "Out = activation([X[0], X[1], ...] FCWeight + FCBias), where row s of the other X stands "
        "beside each row of sequence s of the first. For inference: no gradient passes.")
      .Example(
          ">>> x = to_variable([[1.0], [2.0], [3.0]], lod=[[0, 2, 3]])\n"
          ">>> y, w = to_variable([[10.0], [20.0]]), to_variable([[1.0], [1.0]])\n"
          ">>> F.fusion_seqexpand_concat_fc([x, y], w).tolist()\n"
          "[[11.0], [12.0], [23.0]]")
      .Input(kX, "X", "[rows, columns] with LoD, then [sequences, columns]", kDuplicable)
      .Input(kWeight, "FCWeight", "[columns of all X, M]")
      .Input(kBias, "FCBias", "[M] or [1, M]", kDispensable)
      .Output(kOut, "Out", "[rows, M], the LoD of the first X")
      .Output(kFcOut, "FCOut", "of programs: nothing", kIntermediate)
      .Attr(&SeqexpandConcatFcAttrs::fc_activation, "fc_activation", "of the sum",
            OneOf({"identity", "relu", "sigmoid", "tanh"}))
      .Shape(InferShape)
      .KernelAllocates()
      .NoGrad();
}

template <class T>
struct FusionSeqexpandConcatFcKernel {
  static void Compute(KernelContext& ctx) {
    const Value& first = ctx.InValue(kX);
    sequence::LastLevel(first.tensor(), "X");
    std::vector<Value> all(ctx.InputCount(kX));
    all[0] = first;
    for (size_t i = 1; i < all.size(); ++i) {
      Value bare(ctx.In(kX, static_cast<int>(i)));
      bare.MutableTensor().SetLoD(Ref<LoD>());
      PartCall(ctx, "sequence_expand_as").In(bare).In(first).Out(&all[i]).Run();
    }
    Value joined, sum;
    PartCall(ctx, "concat").In(Pointers(all)).Out(&joined).Attr("axis", 1).Run();
    const std::string& activation = ctx.attrs<SeqexpandConcatFcAttrs>().fc_activation;
    const bool whole = activation == "identity" || activation == "relu";
    Value* out = &ctx.OutValue(kOut);
    PartCall fc(ctx, "fc");
    fc.In(joined).In(ctx.InValue(kWeight)).In(InputOrNull(ctx, kBias)).Out(whole ? out : &sum);
    if (activation == "relu") fc.Attr("activation_type", activation);
    fc.Run();
    if (!whole) PartCall(ctx, activation.c_str()).In(sum).Out(out).Run();
    out->MutableTensor().SetLoD(first.tensor().lod_ref());
    FillUnused(ctx, {kFcOut});
  }
};

REGISTER_OPERATOR(fusion_seqexpand_concat_fc, DefineFusionSeqexpandConcatFc);
REGISTER_KERNELS(fusion_seqexpand_concat_fc, FusionSeqexpandConcatFcKernel, float, double);

}  // namespace
}  // namespace dygraph::fused

#include "operators/fused/seqpool.h"

namespace dygraph::fused {
namespace {

constexpr int kCvm = 1;

void DefineFusionSeqpoolCvmConcat(OpDef& op) {
  SeqpoolRest(
      SeqpoolSlots(
          op.Comment("Out = the sequences of each X, pooled by sequence_pool and changed by cvm, "
                     "side by side. For inference: no gradient passes.")
              .Example(">>> x = to_variable([[0.0, 0.0, 3.0], [0.0, 0.0, 4.0]], lod=[[0, 2]])\n"
                       ">>> counts = to_variable([[1.0, 1.0]])\n"
                       ">>> F.fusion_seqpool_cvm_concat([x, x], counts).tolist()\n"
                       "[[0.0, 0.0, 7.0, 0.0, 0.0, 7.0]]"))
          .Input(kCvm, "CVM", "[sequences, 2], not read"))
      .Attr(&SeqpoolAttrs::use_cvm, "use_cvm", "keep the logarithms of the two counts")
      .Shape(
          [](InferContext& ctx) { InferSeqpool(ctx, ctx.attrs<SeqpoolAttrs>().use_cvm ? 0 : 2); });
}

template <class T>
struct FusionSeqpoolCvmConcatKernel {
  static void Compute(KernelContext& ctx) {
    std::vector<Value> changed(ctx.InputCount(kX));
    const std::vector<Value> pooled = Pool(ctx);
    for (size_t i = 0; i < pooled.size(); ++i) {
      PartCall(ctx, "cvm")
          .In(pooled[i])
          .In(ctx.InValue(kCvm))
          .Out(&changed[i])
          .Attr("use_cvm", ctx.attrs<SeqpoolAttrs>().use_cvm)
          .Run();
    }
    Join(ctx, changed);
  }
};

REGISTER_OPERATOR(fusion_seqpool_cvm_concat, DefineFusionSeqpoolCvmConcat);
REGISTER_KERNELS(fusion_seqpool_cvm_concat, FusionSeqpoolCvmConcatKernel, float, double);

}  // namespace
}  // namespace dygraph::fused

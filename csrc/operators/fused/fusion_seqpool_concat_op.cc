#include "operators/fused/seqpool.h"

namespace dygraph::fused {
namespace {

void DefineFusionSeqpoolConcat(OpDef& op) {
  SeqpoolRest(
      SeqpoolSlots(
          op.Comment("Out = the sequences of each X, pooled by sequence_pool, side by side. For "
                     "inference: no gradient passes.")
              .Example(">>> x = to_variable([[1.0], [3.0], [5.0]], lod=[[0, 2, 3]])\n"
                       ">>> y = to_variable([[10.0], [20.0], [30.0]], lod=[[0, 1, 3]])\n"
                       ">>> F.fusion_seqpool_concat([x, y]).tolist()\n"
                       "[[4.0, 10.0], [5.0, 50.0]]")))
      .Shape([](InferContext& ctx) { InferSeqpool(ctx, 0); });
}

template <class T>
struct FusionSeqpoolConcatKernel {
  static void Compute(KernelContext& ctx) { Join(ctx, Pool(ctx)); }
};

REGISTER_OPERATOR(fusion_seqpool_concat, DefineFusionSeqpoolConcat);
REGISTER_KERNELS(fusion_seqpool_concat, FusionSeqpoolConcatKernel, float, double);

}  // namespace
}  // namespace dygraph::fused

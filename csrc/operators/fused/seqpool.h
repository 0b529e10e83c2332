// Sequences pooled one by one and put side by side: fusion_seqpool_concat, and with the counts of
// cvm fusion_seqpool_cvm_concat.
#pragma once

#include "operators/fused/fused.h"
#include "operators/sequence/sequence.h"

namespace dygraph::fused {

constexpr int kX = 0, kOut = 0;

struct SeqpoolAttrs {
  std::string pooltype = "SUM";
  bool use_cvm = true;
  int32_t axis = 1;
};

// [sequences, the columns of all X], each of which loses `lost`.
inline void InferSeqpool(InferContext& ctx, int64_t lost) {
  int64_t count = -1, width = 0;
  for (int i = 0; i < ctx.InputCount(kX); ++i) {
    const Dims& x = ctx.dims(kX, i);
    ENFORCE(x.rank() == 2 && (x[1] < 0 || x[1] >= lost), InvalidArgument,
            "each X must have shape [rows, columns], got ", x);
    width = AddSizes(width, x[1] < 0 ? -1 : x[1] - lost);
    if (!ctx.runtime()) continue;
    const int64_t own = sequence::Count(sequence::LastLevel(ctx.value(kX, i).tensor(), "X"));
    ENFORCE(i == 0 || own == count, InvalidArgument,
            "all X must have as many sequences as the first, ", count, ", got ", own, " at ", i);
    count = own;
  }
  ENFORCE(ctx.InputCount(kX) > 0, InvalidArgument, "X must hold tensors, got none");
  ctx.SetOutput(kOut, {count, width});
}

inline OpDef& SeqpoolSlots(OpDef& op) {
  return op.Input(kX, "X", "[rows, columns] with LoD, equally many sequences", kDuplicable);
}

inline OpDef& SeqpoolRest(OpDef& op) {
  return op.Output(kOut, "Out", "[sequences, the columns of all]")
      .Attr(&SeqpoolAttrs::pooltype, "pooltype", "how", OneOf({"SUM", "AVERAGE", "SQRT"}))
      .Attr(&SeqpoolAttrs::axis, "axis", "of the columns", Between(1, 1))
      .KernelAllocates()
      .NoGrad();
}

// Each X pooled.
inline std::vector<Value> Pool(KernelContext& ctx) {
  std::vector<Value> pooled(ctx.InputCount(kX));
  for (int i = 0; i < ctx.InputCount(kX); ++i) {
    PartCall(ctx, "sequence_pool")
        .In(ctx.InValue(kX, i))
        .Out(&pooled[i])
        .Attr("pooltype", ctx.attrs<SeqpoolAttrs>().pooltype)
        .Run();
    pooled[i].MutableTensor().SetLoD(Ref<LoD>());
  }
  return pooled;
}

inline void Join(KernelContext& ctx, const std::vector<Value>& values) {
  PartCall(ctx, "concat").In(Pointers(values)).Out(&ctx.OutValue(kOut)).Attr("axis", 1).Run();
}

}  // namespace dygraph::fused

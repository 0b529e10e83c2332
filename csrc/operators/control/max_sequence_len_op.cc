#include "operators/control/array.h"

namespace dygraph {
namespace {

constexpr int kRankTable = 0, kOut = 0;

void DefineMaxSequenceLen(OpDef& op) {
  op.Comment("Out = [the length of the longest sequence of a rank table], 0 where it has none.")
      .Example(
          ">>> x = to_variable([[1.0], [2.0], [3.0]], lod=[[0, 1, 3]])\n"
          ">>> F.max_sequence_len(F.lod_rank_table(x)).tolist()\n"
          "[2]")
      .Input(kRankTable, "RankTable", "of lod_rank_table", kTakesTable)
      .Output(kOut, "Out", "[1], int64")
      .Shape([](InferContext& ctx) {
        array::TableIn(ctx.call(), kRankTable);
        ctx.SetOutput(kOut, {1}, DType::kInt64);
      })
      .KernelDType([](const Call&) { return DType::kInt64; })
      .MixedDTypes()
      .NoGrad();
}

template <class T>
struct MaxSequenceLenKernel {
  static void Compute(KernelContext& ctx) {
    const auto& items = array::TableIn(ctx.call(), kRankTable).items();
    *ctx.Out(kOut).mutable_data<int64_t>() = items.empty() ? 0 : items[0].length;
  }
};

REGISTER_OPERATOR(max_sequence_len, DefineMaxSequenceLen);
REGISTER_CPU_KERNEL(max_sequence_len, MaxSequenceLenKernel, int64_t);

}  // namespace
}  // namespace dygraph

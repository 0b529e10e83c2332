#include "operators/control/array.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

struct LodRankTableAttrs {
  int32_t level = 0;
};

void DefineLodRankTable(OpDef& op) {
  op.Comment(
        "Out = the sequences of X at a level of detail by length, longest first and equal ones in "
        "their order: a table for the operators that go over the steps of a ragged batch.")
      .Example(
          ">>> x = to_variable([[1.0], [2.0], [3.0]], lod=[[0, 1, 3]])\n"
          ">>> F.reorder_lod_tensor_by_rank(x, F.lod_rank_table(x)).tolist()\n"
          "[[2.0], [3.0], [1.0]]")
      .Input(kX, "X", "rows with LoD; only that is read")
      .Output(kOut, "Out", "the table")
      .Attr(&LodRankTableAttrs::level, "level", "the level of detail, 0 the outermost", AtLeast(0))
      .VarType([](InferContext& ctx) {
        Value* out = ctx.call().out.at(kOut);
        if (!out) return;
        const LoDLevels none{{0}};
        *out = ctx.runtime() ? Value(MakeRef<LoDRankTable>(ctx.value(kX).tensor().lod_levels(),
                                                           ctx.attrs<LodRankTableAttrs>().level))
                             : Value(MakeRef<LoDRankTable>(none, 0));
      })
      .KernelAllocates()
      .NoGrad();
}

template <class T>
struct LodRankTableKernel {
  static void Compute(KernelContext&) {}  // the rule of types has made it
};

REGISTER_OPERATOR(lod_rank_table, DefineLodRankTable);
REGISTER_MOVING_KERNEL(lod_rank_table, LodRankTableKernel);

}  // namespace
}  // namespace dygraph

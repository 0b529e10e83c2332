#include "op/gradient_call.h"
#include "operators/control/ranked.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kRankTable = 1, kI = 2, kOut = 0;

void DefineShrinkRnnMemory(OpDef& op) {
  op.Comment(
        "Out = the first rows of X, one for each sequence of the table with more than I elements: "
        "the states of those that have not ended. It shares X's storage. Where X has a level of "
        "detail, its first sequences.")
      .Example(
          ">>> x = to_variable([[1.0], [2.0], [3.0]], lod=[[0, 1, 3]])\n"
          ">>> state = to_variable([[5.0], [6.0]])\n"
          ">>> i = to_variable(np.array([1]))\n"
          ">>> F.shrink_rnn_memory(state, F.lod_rank_table(x), i).tolist()\n"
          "[[5.0]]")
      .Input(kX, "X", "[n, ...], rows in the order of the table")
      .Input(kRankTable, "RankTable", "of lod_rank_table", kTakesTable)
      .Input(kI, "I", "one integer of at least 0, the step", kOnHost)
      .Output(kOut, "Out", "[rows that are left, ...]")
      .VarType([](InferContext& ctx) {
        array::TableIn(ctx.call(), kRankTable);
        if (!ctx.runtime()) ctx.SetOutput(kOut, array::OpenRows(ctx.dims(kX)), ctx.dtype(kX));
      })
      .KernelDTypeOf(kX)
      .MixedDTypes()
      .KernelAllocates()
      .MayShare(kX, kOut)
      .Grad(CallGradient);
}

template <class T>
struct ShrinkRnnMemoryKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    const int64_t i = array::NumberIn(ctx, kI);
    ENFORCE(i >= 0, OutOfRange, "I must be at least 0, got ", i);
    const auto& table = array::TableIn(ctx.call(), kRankTable);
    const int64_t left = table.LongerThan(i), all = table.LongerThan(-1);
    const LoDLevels& lod = x.lod_levels();
    ENFORCE(x.rank() > 0, InvalidArgument, "X must have rows, got shape ", x.dims());
    const int64_t have = lod.empty() ? x.dim(0) : static_cast<int64_t>(lod[0].size()) - 1;
    ENFORCE(have >= left, InvalidArgument, "X must have a row for each of the ", left,
            " sequences longer than ", i, ", got ", have, lod.empty() ? " rows" : " sequences");
    ENFORCE(have <= all, InvalidArgument, "X must have at most a row for each of the ", all,
            " sequences of the table, got ", have, lod.empty() ? " rows" : " sequences");
    const int64_t rows = lod.empty() ? left : ranked::RowsOf(lod, 0, 0, left).end;
    Tensor& out = ctx.Out(kOut);
    out = x.Rows(0, rows);
    if (lod.empty()) return;
    LoDLevels kept = ranked::NoSequences(lod.size());
    ranked::AppendBelow(lod, 0, 0, left, &kept);
    out.SetLoD(std::move(kept));
  }
};

namespace grad {
constexpr int kX = 0, kOutGrad = 1, kXGrad = 0;

void DefineShrinkRnnMemoryGrad(OpDef& op) {
  op.Comment("X@GRAD = the rows of Out@GRAD and zeros below.")
      .Input(kX, "X", "its shape and LoD", kShapeOnly)
      .Input(kOutGrad, "Out@GRAD", "rows of X")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .Shape([](InferContext& ctx) {
        const Dims &x = ctx.dims(kX), &g = ctx.dims(kOutGrad);
        bool fits = x.rank() == g.rank() && x.rank() > 0;
        for (int i = 1; fits && i < x.rank(); ++i) fits = x[i] == g[i] || !BothKnown(x[i], g[i]);
        ENFORCE(fits && (g[0] <= x[0] || !BothKnown(x[0], g[0])), InvalidArgument,
                "Out@GRAD must be rows of X ", x, ", got ", g);
        ctx.SetOutput(kXGrad, x, ctx.dtype(kOutGrad));
      })
      .KernelDTypeOf(kOutGrad)
      .ShareLoD(kX)
      .Grad([](GradBuilder& g) {  // Y of crop says how many rows
        g.Call("crop", {g.OutputGrad(kXGrad), g.InputShape(kOutGrad)}, {g.InputGrad(kOutGrad)});
      });
}

template <class T>
struct ShrinkRnnMemoryGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& g = ctx.In(kOutGrad);
    Tensor& x = ctx.Out(kXGrad);
    T* to = x.mutable_data<T>();
    if (g.numel() > 0) ctx.device().CopyWithin(to, g.raw_data(), g.bytes());
    kernels::Fill(to + g.numel(), x.numel() - g.numel(), T(0));
  }
};
}  // namespace grad

REGISTER_OPERATOR(shrink_rnn_memory, DefineShrinkRnnMemory);
REGISTER_MOVING_KERNEL(shrink_rnn_memory, ShrinkRnnMemoryKernel);
REGISTER_OPERATOR(shrink_rnn_memory_grad, grad::DefineShrinkRnnMemoryGrad);
REGISTER_KERNELS(shrink_rnn_memory_grad, grad::ShrinkRnnMemoryGradKernel, float, double, float16,
                 bfloat16);

}  // namespace
}  // namespace dygraph

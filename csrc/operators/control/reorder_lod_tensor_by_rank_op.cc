#include "op/gradient_call.h"
#include "operators/control/ranked.h"

namespace dygraph::ranked {
namespace {

constexpr int kX = 0, kRankTable = 1, kOut = 0;

// The sequences of x at its outermost level, or its rows.
std::vector<Piece> SequencesOf(const Tensor& x, const LoDLevels& lod, const LoDRankTable& table) {
  ENFORCE(x.rank() > 0, InvalidArgument, "X must have rows, got shape ", x.dims());
  const int64_t n = lod.empty() ? x.dim(0) : static_cast<int64_t>(lod[0].size()) - 1;
  ENFORCE(n == static_cast<int64_t>(table.items().size()), InvalidArgument,
          "X must have as many sequences as the table, ", table.items().size(), ", got ", n,
          ". Make a table of this batch with lod_rank_table()");
  std::vector<Piece> pieces;
  for (int64_t i = 0; i < n; ++i)
    pieces.push_back({&x, lod.empty() ? Rows{i, i + 1} : RowsOf(lod, 0, i, i + 1)});
  return pieces;
}

void DefineReorderLodTensorByRank(OpDef& op) {
  op.Comment(
        "Out = the sequences of X in the order of the table, longest first. The sequences are "
        "those "
        "of X's outermost level of detail; without one each row is a sequence.")
      .Example(
          ">>> x = to_variable([[1.0], [2.0], [3.0]], lod=[[0, 1, 3]])\n"
          ">>> state = to_variable([[5.0], [6.0]])\n"
          ">>> F.reorder_lod_tensor_by_rank(state, F.lod_rank_table(x)).tolist()\n"
          "[[6.0], [5.0]]")
      .Input(kX, "X", "rows")
      .Input(kRankTable, "RankTable", "of lod_rank_table, of as many sequences", kTakesTable)
      .Output(kOut, "Out", "shape of X")
      .VarType([](InferContext& ctx) {
        array::TableIn(ctx.call(), kRankTable);
        ctx.SetOutput(kOut, ctx.dims(kX), ctx.dtype(kX));
      })
      .KernelDTypeOf(kX)
      .MixedDTypes()
      .KernelAllocates()
      .ShareLoD(kX)  // so many levels; the kernel orders them
      .Grad(CallGradient);
}

template <class T>
struct ReorderLodTensorByRankKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    const LoDRankTable& table = array::TableIn(ctx.call(), kRankTable);
    const LoDLevels lod = x.lod_levels();
    const std::vector<Piece> sequences = SequencesOf(x, lod, table);
    std::vector<Piece> pieces;
    LoDLevels levels = NoSequences(lod.size());
    for (const LoDRankTable::Item& item : table.items()) {
      pieces.push_back(sequences[item.index]);
      AppendBelow(lod, 0, item.index, item.index + 1, &levels);
    }
    Tensor& out = ctx.Out(kOut);
    out = Gather(pieces, x, ctx.place());
    if (!lod.empty()) out.SetLoD(std::move(levels));
  }
};

namespace grad {
constexpr int kX = 0, kRankTable = 1, kOutGrad = 2, kXGrad = 0;

void DefineReorderLodTensorByRankGrad(OpDef& op) {
  op.Comment("X@GRAD = the sequences of Out@GRAD in the order that they had before.")
      .Input(kX, "X", "its shape and LoD", kShapeOnly)
      .Input(kRankTable, "RankTable", "of lod_rank_table", kTakesTable)
      .Input(kOutGrad, "Out@GRAD", "shape of X")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .VarType([](InferContext& ctx) {
        const Dims &x = ctx.dims(kX), &g = ctx.dims(kOutGrad);
        ENFORCE(x == g || x.HasUnknown() || g.HasUnknown(), InvalidArgument,
                "Out@GRAD must have the shape of X, ", x, ", got ", g);
        ctx.SetOutput(kXGrad, x, ctx.dtype(kOutGrad));
      })
      .KernelDTypeOf(kOutGrad)
      .MixedDTypes()
      .KernelAllocates()
      .ShareLoD(kX)
      .Grad([](GradBuilder& g) {
        RecipeRef arriving = g.Apply("lod_like", {g.OutputGrad(kXGrad), g.InputShape(kX)});
        g.Call("reorder_lod_tensor_by_rank", {arriving, g.Input(kRankTable)},
               {g.InputGrad(kOutGrad)});
      });
}

template <class T>
struct ReorderLodTensorByRankGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &g = ctx.In(kOutGrad);
    const LoDRankTable& table = array::TableIn(ctx.call(), kRankTable);
    std::vector<Piece> pieces = SequencesOf(x, x.lod_levels(), table);  // those of X, in its order
    int64_t at = 0;
    for (const LoDRankTable::Item& item : table.items()) {
      const int64_t rows = pieces[item.index].rows.count();
      pieces[item.index] = {&g, {at, at + rows}};
      at += rows;
    }
    Tensor& out = ctx.Out(kXGrad);
    out = Gather(pieces, g, ctx.place());
    out.SetLoD(x.lod_ref());
  }
};
}  // namespace grad

REGISTER_OPERATOR(reorder_lod_tensor_by_rank, DefineReorderLodTensorByRank);
REGISTER_MOVING_KERNEL(reorder_lod_tensor_by_rank, ReorderLodTensorByRankKernel);
REGISTER_OPERATOR(reorder_lod_tensor_by_rank_grad, grad::DefineReorderLodTensorByRankGrad);
REGISTER_KERNELS(reorder_lod_tensor_by_rank_grad, grad::ReorderLodTensorByRankGradKernel, float16,
                 bfloat16, float, double);

}  // namespace
}  // namespace dygraph::ranked

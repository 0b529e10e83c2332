#include "operators/control/ranked.h"

namespace dygraph::ranked {
namespace {

constexpr int kX = 0, kRankTable = 1, kOut = 0;

void DefineLodTensorToArray(OpDef& op) {
  op.Comment(
        "Out[t] = element t of each sequence of X that has one, longest sequences first. The rows "
        "are gathered once, and the elements of Out are slices of that. Of two levels of detail an "
        "element keeps the inner one. X without a level of detail has that of the table.")
      .Example(
          ">>> x = to_variable([[1.0], [2.0], [3.0]], lod=[[0, 1, 3]])\n"
          ">>> steps = F.lod_tensor_to_array(x, F.lod_rank_table(x))\n"
          ">>> F.read_from_array(steps, to_variable(np.array([0]))).tolist()\n"
          "[[2.0], [1.0]]")
      .Input(kX, "X", "rows with LoD")
      .Input(kRankTable, "RankTable", "of lod_rank_table for X, or for a batch of such sequences",
             kTakesTable)
      .Output(kOut, "Out", "an array of as many elements as the longest sequence has")
      .VarType([](InferContext& ctx) {
        array::TableIn(ctx.call(), kRankTable);
        if (!ctx.runtime())
          array::Describe(ctx, kOut, array::OpenRows(ctx.dims(kX)), ctx.dtype(kX));
      })
      .KernelDTypeOf(kX)
      .MixedDTypes()
      .KernelAllocates()
      .Grad([](GradBuilder& g) {
        g.Call("array_to_lod_tensor", {g.OutputGrad(kOut), g.Input(kRankTable)}, {g.InputGrad(kX)});
      });
}

template <class T>
struct LodTensorToArrayKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    const LoDRankTable& table = array::TableIn(ctx.call(), kRankTable);
    const LoDLevels lod = LevelsLike(x, table, "X");
    const size_t level = table.level();
    const int64_t steps = table.items().empty() ? 0 : table.items()[0].length;
    std::vector<Piece> pieces;
    std::vector<int64_t> ends{0};  // of the elements in what is gathered
    for (int64_t t = 0; t < steps; ++t) {
      int64_t rows = 0;
      for (const LoDRankTable::Item& item : table.items()) {
        if (item.length <= t) break;
        const int64_t at = lod[level][item.index] + t;
        pieces.push_back({&x, RowsOf(lod, level + 1, at, at + 1)});
        rows += pieces.back().rows.count();
      }
      ends.push_back(ends.back() + rows);
    }
    const Tensor gathered = Gather(pieces, x, ctx.place());
    std::vector<Tensor> items;
    for (int64_t t = 0; t < steps; ++t) {
      Tensor& item = items.emplace_back(gathered.Rows(ends[t], ends[t + 1]));
      if (lod.size() > level + 1) item.SetLoD(BelowStep(lod, table, t));
    }
    ctx.OutValue(kOut) = Value(MakeRef<TensorArray>(std::move(items)));
  }
};

REGISTER_OPERATOR(lod_tensor_to_array, DefineLodTensorToArray);
REGISTER_MOVING_KERNEL(lod_tensor_to_array, LodTensorToArrayKernel);

}  // namespace
}  // namespace dygraph::ranked

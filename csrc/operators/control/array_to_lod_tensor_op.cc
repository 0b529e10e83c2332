#include "operators/control/ranked.h"

namespace dygraph::ranked {
namespace {

constexpr int kX = 0, kRankTable = 1, kOut = 0;

// A loop without turns has written nothing, so that nothing says what a row is like.
void RequireSteps(const Value& x, const LoDRankTable& table) {
  if (!x.empty()) return;
  const int64_t steps = table.items().empty() ? 0 : table.items()[0].length;
  ENFORCE(steps > 0, InvalidArgument, "at least one sequence must have a step, got none");
  THROW(PreconditionNotMet, "X must have ", steps,
        " elements, the steps of the longest sequence of the table, but nothing was written to it");
}

void DefineArrayToLodTensor(OpDef& op) {
  op.Comment(
        "Out = the sequences whose steps are the elements of X, in their order before "
        "lod_tensor_to_array: its inverse. Elements with a level of detail give Out one more.")
      .Example(
          ">>> x = to_variable([[1.0], [2.0], [3.0]], lod=[[0, 1, 3]])\n"
          ">>> table = F.lod_rank_table(x)\n"
          ">>> F.array_to_lod_tensor(F.lod_tensor_to_array(x, table), table).tolist()\n"
          "[[1.0], [2.0], [3.0]]")
      .Input(kX, "X",
             "an array of as many elements as the longest sequence has, each with a row, or an "
             "inner sequence, for every sequence longer than its number",
             kTakesArray | kMayBeUnwritten)
      .Input(kRankTable, "RankTable", "of lod_rank_table", kTakesTable)
      .Output(kOut, "Out", "all rows, with the level of detail of the table")
      .VarType([](InferContext& ctx) {
        const LoDRankTable& table = array::TableIn(ctx.call(), kRankTable);
        if (ctx.runtime()) return RequireSteps(*ctx.call().in.at(kX), table);
        const Tensor& x = array::Described(ctx, kX);
        if (x.dtype() != DType::kUnset) ctx.SetOutput(kOut, array::OpenRows(x.dims()), x.dtype());
      })
      .KernelDType(array::TypeOf<kX>)
      .MixedDTypes()
      .KernelAllocates()
      .Grad([](GradBuilder& g) {
        g.Call("lod_tensor_to_array", {g.OutputGrad(kOut), g.Input(kRankTable)}, {g.InputGrad(kX)});
      });
}

// One element: a sequence of rows for each sequence that is longer than its number.
struct Step {
  const Tensor* rows;  // nullptr: zeros
  LoDLevels lod;       // empty: one row each

  Rows RowsAt(int64_t k) const { return lod.empty() ? Rows{k, k + 1} : RowsOf(lod, 0, k, k + 1); }
};

Step StepOf(const TensorArray& x, const LoDRankTable& table, int64_t t, const Tensor& like,
            bool zeros) {
  const int64_t count = table.LongerThan(t);
  const bool written = t < static_cast<int64_t>(x.items.size()) && x.items[t].has_data();
  if (!written && zeros) return {nullptr, BelowStep(table.lod(), table, t)};
  array::RequireWritten("X", x, t);
  const Tensor& e = x.items[t];
  ENFORCE(e.dtype() == like.dtype() && e.rank() > 0 && e.rank() == like.rank() &&
              std::equal(e.dims().begin() + 1, e.dims().end(), like.dims().begin() + 1),
          InvalidArgument, "the elements of X must have rows of one shape and type, got ",
          like.dims(), " of ", like.dtype(), " and X[", t, "] ", e.dims(), " of ", e.dtype());
  Step step{&e, e.lod_levels()};
  if (step.lod.empty() && (zeros || e.dim(0) != count)) {  // gradients come without levels
    LoDLevels below = BelowStep(table.lod(), table, t);
    if (!below.empty() && below.back().back() == e.dim(0)) step.lod = std::move(below);
  }
  const int64_t sequences =
      step.lod.empty() ? e.dim(0) : static_cast<int64_t>(step.lod[0].size()) - 1;
  const int64_t rows = step.lod.empty() ? sequences : step.lod.back().back();
  ENFORCE(sequences == count && rows == e.dim(0), InvalidArgument, "X[", t,
          "] must have a row for each of the ", count, " sequences longer than ", t, ", got shape ",
          e.dims());
  return step;
}

template <class T>
struct ArrayToLodTensorKernel {
  static void Compute(KernelContext& ctx) {
    const TensorArray& x = array::ArrayIn(ctx.call(), kX);
    const LoDRankTable& table = array::TableIn(ctx.call(), kRankTable);
    const auto& items = table.items();
    const int64_t steps = items.empty() ? 0 : items[0].length;
    const int64_t given = static_cast<int64_t>(x.items.size());
    const bool zeros = array::IsBackward(ctx.call());
    ENFORCE(given == steps || (zeros && given < steps), InvalidArgument, "X must have ", steps,
            " elements, the steps of the longest sequence of the table, got ", given);
    const Tensor* like = nullptr;
    for (const Tensor& t : x.items) {
      if (!like && t.has_data()) like = &t;
    }
    ENFORCE(like, PreconditionNotMet,
            "X must have an element that says what a row is like, got an array of ", given,
            " in which nothing has been written");
    std::vector<Step> all;
    for (int64_t t = 0; t < steps; ++t) all.push_back(StepOf(x, table, t, *like, zeros));
    const size_t inner = all[0].lod.size();
    for (const Step& s : all) {
      ENFORCE(s.lod.size() == inner, InvalidArgument,
              "the elements of X must have as many levels of detail, got ", inner, " and ",
              s.lod.size());
    }
    std::vector<int64_t> rank(items.size());
    for (size_t k = 0; k < items.size(); ++k) rank[items[k].index] = static_cast<int64_t>(k);
    std::vector<Piece> pieces;
    LoDLevels below = NoSequences(inner);
    for (int64_t k : rank) {
      for (int64_t t = 0; t < items[k].length; ++t) {
        pieces.push_back({all[t].rows, all[t].RowsAt(k)});
        AppendBelow(all[t].lod, 0, k, k + 1, &below);
      }
    }
    Tensor& out = ctx.Out(kOut);
    out = Gather(pieces, *like, ctx.place());
    LoDLevels lod(table.lod().begin(), table.lod().begin() + table.level() + 1);
    lod.insert(lod.end(), below.begin(), below.end());
    out.SetLoD(std::move(lod));
  }
};

REGISTER_OPERATOR(array_to_lod_tensor, DefineArrayToLodTensor);
REGISTER_MOVING_KERNEL(array_to_lod_tensor, ArrayToLodTensorKernel);

}  // namespace
}  // namespace dygraph::ranked

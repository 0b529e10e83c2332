#include <unordered_map>
#include <vector>

#include "operators/arguments.h"

namespace dygraph {
namespace {

constexpr int kScore = 0, kLabel = 1, kQuery = 2, kFirstSum = 3, kWeight = 6;

struct PairAttrs {
  int32_t column = 0;
};

void InferShape(InferContext& ctx) {
  const Dims& score = ctx.dims(kScore);
  const int32_t column = ctx.attrs<PairAttrs>().column;
  ENFORCE(score.rank() == 2, InvalidArgument, "Score must have shape [N, columns], got ", score);
  ENFORCE(score[1] < 0 || (column >= -score[1] && column < score[1]), InvalidArgument,
          "column must be one of the ", score[1], " columns of Score, got ", column);
  for (int slot : {kLabel, kQuery, kWeight}) {
    if (!ctx.HasInput(slot)) continue;
    const Dims& d = ctx.dims(slot);
    ENFORCE(d.HasUnknown() || score[0] < 0 || Numel(d) == score[0], InvalidArgument,
            ctx.call().op->inputs[slot].name, " must hold a number for each of the ", score[0],
            " rows of Score, got shape ", d);
    ENFORCE(slot == kQuery || ctx.dtype(slot) == ctx.dtype(kScore), Type,
            ctx.call().op->inputs[slot].name, " must be of the type of Score, ", ctx.dtype(kScore),
            ", got ", ctx.dtype(slot));
  }
  int sums = 0;
  for (int i = 0; i < 3; ++i) {
    if (!ctx.HasInput(kFirstSum + i)) continue;
    ++sums;
    const Dims& d = ctx.dims(kFirstSum + i);
    ENFORCE(d.HasUnknown() || Numel(d) == 1, InvalidArgument,
            ctx.call().op->inputs[kFirstSum + i].name, " must hold one number, got shape ", d);
  }
  ENFORCE(sums == 0 || sums == 3, InvalidArgument,
          "AccumulatePositivePair, AccumulateNegativePair and AccumulateNeutralPair must be given "
          "together, got ",
          sums, " of them");
  for (int slot = 0; slot < 3; ++slot) ctx.SetOutput(slot, {1});
}

void DefinePositiveNegativePair(OpDef& op) {
  op.Comment(
        "Counts the pairs of items of one query whose labels differ: PositivePair those whose "
        "scores stand in the order of the labels, NegativePair the others, NeutralPair those of "
        "equal scores, which are among the others too. With Weight a pair counts the mean of its "
        "weights. What is given as Accumulate... is added.")
      .Example(
          ">>> score, label = to_variable([[0.1], [0.5], [0.2]]), to_variable([[0.0], [1.0], "
          "[2.0]])\n"
          ">>> query = to_variable([[7], [7], [7]])\n"
          ">>> [v.item() for v in F.positive_negative_pair(score, label, query)]\n"
          "[2.0, 1.0, 0.0]")
      .Input(kScore, "Score", "[N, columns]")
      .Input(kLabel, "Label", "[N, 1]")
      .Input(kQuery, "QueryID", "[N, 1] integers")
      .Input(kFirstSum, "AccumulatePositivePair", "[1]", kDispensable)
      .Input(kFirstSum + 1, "AccumulateNegativePair", "[1]", kDispensable)
      .Input(kFirstSum + 2, "AccumulateNeutralPair", "[1]", kDispensable)
      .Input(kWeight, "Weight", "[N, 1]", kDispensable)
      .Output(0, "PositivePair", "[1]")
      .Output(1, "NegativePair", "[1]")
      .Output(2, "NeutralPair", "[1]")
      .Attr(&PairAttrs::column, "column", "of Score, from the end where negative")
      .Shape(InferShape)
      .KernelDTypeOf(kScore)
      .MixedDTypes()
      .NoGrad();
}

template <class T>
struct PositiveNegativePairKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& score = ctx.In(kScore);
    const int64_t rows = score.dim(0), columns = score.dim(1);
    const int64_t given = ctx.attrs<PairAttrs>().column;
    const T* s = score.data<T>() + (given < 0 ? given + columns : given);
    const T *label = ctx.In(kLabel).data<T>(),
            *weight = ctx.HasInput(kWeight) ? ctx.In(kWeight).data<T>() : nullptr;
    std::unordered_map<int64_t, std::vector<int64_t>> queries;
    const std::vector<int64_t> ids = Integers(ctx.In(kQuery), "QueryID");
    std::vector<double> counts(3, 0.0);
    for (int64_t i = 0; i < rows; ++i) {  // with the earlier items of its query
      std::vector<int64_t>& before = queries[ids[i]];
      for (int64_t k : before) {
        if (label[k] == label[i]) continue;
        const double w = weight ? (static_cast<double>(weight[k]) + weight[i]) / 2 : 1;
        const T a = s[k * columns], b = s[i * columns];
        const bool in_order = (a > b && label[k] > label[i]) || (a < b && label[k] < label[i]);
        counts[in_order ? 0 : 1] += w;
        if (a == b) counts[2] += w;
      }
      before.push_back(i);
    }
    for (int slot = 0; slot < 3; ++slot) {
      const Tensor* sum = ctx.InOrNull(kFirstSum + slot);
      const double before = sum ? static_cast<double>(*sum->data<T>()) : 0;
      if (Tensor* out = ctx.OutOrNull(slot))
        *out->mutable_data<T>() = static_cast<T>(before + counts[slot]);
    }
  }
};

REGISTER_OPERATOR(positive_negative_pair, DefinePositiveNegativePair);
REGISTER_CPU_KERNEL(positive_negative_pair, PositiveNegativePairKernel, float, double);

}  // namespace
}  // namespace dygraph

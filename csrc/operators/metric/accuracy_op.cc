#include "kernels/fold.h"
#include "operators/arguments.h"

namespace dygraph {
namespace {

constexpr int kOut = 0, kIndices = 1, kLabel = 2, kAccuracy = 0, kCorrect = 1, kTotal = 2;

void InferShape(InferContext& ctx) {
  const Dims &indices = ctx.dims(kIndices), &label = ctx.dims(kLabel);
  ENFORCE(indices.rank() == 2, InvalidArgument, "Indices must be a matrix [N, k], got shape ",
          indices);
  ENFORCE(label.rank() == 1 || (label.rank() == 2 && (label[1] == 1 || label[1] < 0)),
          InvalidArgument, "Label must have shape [N, 1] or [N], got ", label);
  ENFORCE(label[0] == indices[0] || !BothKnown(label[0], indices[0]), InvalidArgument,
          "Label and Indices must have as many rows, got ", label, " and ", indices);
  ctx.SetOutput(kAccuracy, Dims(), DType::kFloat32);
  ctx.SetOutput(kCorrect, Dims(), DType::kInt32);
  ctx.SetOutput(kTotal, Dims(), DType::kInt32);
}

void DefineAccuracy(OpDef& op) {
  op.Comment(
        "Accuracy = Correct / Total, where Correct counts the rows of Indices that hold their "
        "Label and Total all of them. No rows "
        "give NaN.")
      .Example(
          ">>> best = to_variable([[0.9], [0.8]])\n"
          ">>> found, label = to_variable([[1], [0]]), to_variable([[1], [1]])\n"
          ">>> [v.item() for v in F.accuracy(best, found, label)]  # share, right ones, all\n"
          "[0.5, 1, 2]")
      .Input(kOut, "Out", "[N, k], values of top_k; not read")
      .Input(kIndices, "Indices", "[N, k], positions of top_k, int32 or int64")
      .Input(kLabel, "Label", "[N, 1] or [N], int32 or int64")
      .Output(kAccuracy, "Accuracy", "shape [], float32")
      .Output(kCorrect, "Correct", "shape [], int32")
      .Output(kTotal, "Total", "shape [], int32")
      .Shape(InferShape)
      .MixedDTypes()
      .NoGrad();
}

// put(how many rows of `found`, k numbers each, hold what is wanted).
template <class I, class L, class P>
void CountHits(const I* found, const L* wanted, int64_t rows, int64_t k, P put) {
  kernels::FoldAll(
      rows, int32_t{0},
      [=] DYGRAPH_FN(int64_t i) {
        bool hit = false;
        for (int64_t j = 0; j < k; ++j)
          hit |= static_cast<int64_t>(found[i * k + j]) == static_cast<int64_t>(wanted[i]);
        return static_cast<int32_t>(hit);
      },
      kernels::Sum(), put);
}

template <class>
struct AccuracyKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &indices = ctx.In(kIndices), &label = ctx.In(kLabel);
    int64_t rows = indices.dim(0), k = indices.dim(1);
    Tensor *accuracy = ctx.OutOrNull(kAccuracy), *correct = ctx.OutOrNull(kCorrect),
           *total = ctx.OutOrNull(kTotal);
    float* share = accuracy ? accuracy->mutable_data<float>() : nullptr;
    int32_t* hits = correct ? correct->mutable_data<int32_t>() : nullptr;
    int32_t* all = total ? total->mutable_data<int32_t>() : nullptr;
    auto put = [=] DYGRAPH_FN(int32_t right) {
      if (share) *share = static_cast<float>(right) / static_cast<float>(rows);
      if (hits) *hits = right;
      if (all) *all = static_cast<int32_t>(rows);
    };
    VisitIndices(indices, "Indices", [&](auto* found) {
      VisitIndices(label, "Label", [&](auto* wanted) { CountHits(found, wanted, rows, k, put); });
    });
  }
};

REGISTER_OPERATOR(accuracy, DefineAccuracy);
REGISTER_KERNELS(accuracy, AccuracyKernel, float, double);

}  // namespace
}  // namespace dygraph

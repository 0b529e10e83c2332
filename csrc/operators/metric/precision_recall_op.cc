#include "kernels/elementwise.h"
#include "kernels/fold.h"
#include "operators/arguments.h"
#include "operators/metric/class_numbers.h"
#include "operators/metric/class_states.h"

namespace dygraph {
namespace {

constexpr int kMaxProbs = 0, kIndices = 1, kLabels = 2, kWeights = 3, kStatesInfo = 4,
              kBatchMetrics = 0, kAccumMetrics = 1, kAccumStatesInfo = 2;

struct PrecisionRecallAttrs {
  int32_t class_number = 1;
};

void InferShape(InferContext& ctx) {
  const Dims& probs = ctx.dims(kMaxProbs);
  int64_t classes = ctx.attrs<PrecisionRecallAttrs>().class_number;
  for (int slot : {kIndices, kLabels, kWeights}) {
    if (!ctx.HasInput(slot)) continue;
    const Dims& d = ctx.dims(slot);
    const char* name = slot == kIndices ? "Indices" : slot == kLabels ? "Labels" : "Weights";
    bool fits = d.rank() == probs.rank();
    for (int i = 0; fits && i < d.rank(); ++i)
      fits = d[i] == probs[i] || !BothKnown(d[i], probs[i]);
    ENFORCE(fits, InvalidArgument, name, " must have the shape of MaxProbs ", probs, ", got ", d);
  }
  ENFORCE(!ctx.HasInput(kWeights) || ctx.dtype(kWeights) == ctx.dtype(kMaxProbs), Type,
          "Weights must be of the type of MaxProbs, ", ctx.dtype(kMaxProbs), ", got ",
          ctx.dtype(kWeights));
  if (ctx.HasInput(kStatesInfo)) {
    const Dims& d = ctx.dims(kStatesInfo);
    ENFORCE(d.rank() == 2 && (d[0] == classes || d[0] < 0) && (d[1] == 4 || d[1] < 0),
            InvalidArgument, "StatesInfo must have the shape [class_number, 4], [", classes,
            ", 4], got ", d);
    ENFORCE(ctx.dtype(kStatesInfo) == ctx.dtype(kMaxProbs), Type,
            "StatesInfo must be of the type of MaxProbs, ", ctx.dtype(kMaxProbs), ", got ",
            ctx.dtype(kStatesInfo));
  }
  ctx.SetOutput(kBatchMetrics, {6}, DType::kFloat64);
  ctx.SetOutput(kAccumMetrics, {6}, DType::kFloat64);
  ctx.SetOutput(kAccumStatesInfo, {classes, 4});
}

void DefinePrecisionRecall(OpDef& op) {
  op.Comment(
        "Macro averaged precision, recall and F1, then micro averaged ones, of this batch and of "
        "all so far: precision = TP / (TP + FP), recall = TP / (TP + FN), 1 where nothing counts; "
        "F1 = 2 p r / (p + r). States are TP, FP, TN, FN of each class.")
      .Example(
          ">>> indices, labels = to_variable([[0], [1], [1]]), to_variable([[0], [1], [0]])\n"
          ">>> scores = to_variable([[0.9], [0.8], [0.7]])\n"
          ">>> batch, _, states = F.precision_recall(scores, indices, labels, class_number=2)\n"
          ">>> [round(v, 4) for v in batch.tolist()]\n"
          "[0.75, 0.75, 0.75, 0.6667, 0.6667, 0.6667]\n"
          ">>> states.tolist()  # TP, FP, TN, FN of each class\n"
          "[[1.0, 0.0, 1.0, 1.0], [1.0, 1.0, 1.0, 0.0]]")
      .Input(kMaxProbs, "MaxProbs", "[N, 1], values of top_k; not read")
      .Input(kIndices, "Indices", "[N, 1] predicted classes, int32 or int64")
      .Input(kLabels, "Labels", "[N, 1] classes, int32 or int64")
      .Input(kWeights, "Weights", "[N, 1]; 1", kDispensable)
      .Input(kStatesInfo, "StatesInfo", "[class_number, 4], from earlier batches", kDispensable)
      .Output(kBatchMetrics, "BatchMetrics", "[6], float64")
      .Output(kAccumMetrics, "AccumMetrics", "[6], float64")
      .Output(kAccumStatesInfo, "AccumStatesInfo", "[class_number, 4]")
      .Attr(&PrecisionRecallAttrs::class_number, "class_number", "how many", Between(1, 1 << 24))
      .MixedDTypes()
      .KernelDTypeOf(kMaxProbs)
      .Shape(InferShape)
      .NoGrad();
}

DYGRAPH_INLINE double Ratio(double part, double rest) {
  return part > 0 || rest > 0 ? part / (part + rest) : 1;
}
DYGRAPH_INLINE double F1(double p, double r) { return p > 0 || r > 0 ? 2 * p * r / (p + r) : 0; }

struct Sums {
  double precision, recall, tp, fp, fn;
  DYGRAPH_INLINE Sums operator+(Sums b) const {
    return {precision + b.precision, recall + b.recall, tp + b.tp, fp + b.fp, fn + b.fn};
  }
};

void Metrics(const double* states, int64_t classes, double* to) {
  kernels::FoldAll(
      classes, Sums{0, 0, 0, 0, 0},
      [=] DYGRAPH_FN(int64_t c) {
        const double* s = states + 4 * c;
        return Sums{Ratio(s[kTp], s[kFp]), Ratio(s[kTp], s[kFn]), s[kTp], s[kFp], s[kFn]};
      },
      kernels::Sum(),
      [=] DYGRAPH_FN(Sums s) {
        to[0] = s.precision / static_cast<double>(classes);
        to[1] = s.recall / static_cast<double>(classes);
        to[2] = F1(to[0], to[1]);
        to[3] = Ratio(s.tp, s.fp);
        to[4] = Ratio(s.tp, s.fn);
        to[5] = F1(to[3], to[4]);
      });
}

template <class T>
struct PrecisionRecallKernel {
  static void Compute(KernelContext& ctx) {
    const int64_t classes = ctx.attrs<PrecisionRecallAttrs>().class_number;
    Scratch room = ctx.Workspace(4 * classes * sizeof(double));
    double* states = room.as<double>();
    VisitIndices(ctx.In(kIndices), "Indices", [&](auto* found) {
      VisitIndices(ctx.In(kLabels), "Labels",
                   [&](auto* label) { Count(ctx, found, label, classes, states); });
    });
    const Tensor* info = ctx.InOrNull(kStatesInfo);
    const T* earlier = info ? info->data<T>() : nullptr;
    if (Tensor* out = ctx.OutOrNull(kBatchMetrics))
      Metrics(states, classes, out->mutable_data<double>());
    if (earlier) {
      kernels::ForEach(4 * classes, [=] DYGRAPH_FN(int64_t i) { states[i] += earlier[i]; });
    }
    if (Tensor* out = ctx.OutOrNull(kAccumMetrics))
      Metrics(states, classes, out->mutable_data<double>());
    if (Tensor* out = ctx.OutOrNull(kAccumStatesInfo))
      kernels::MapPlain(states, out->mutable_data<T>(), 4 * classes,
                        [] DYGRAPH_FN(double v) { return static_cast<T>(v); });
  }
  // The states of this batch.
  template <class I, class L>
  static void Count(const KernelContext& ctx, const I* found, const L* label, int64_t classes,
                    double* states) {
    const int64_t n = ctx.In(kLabels).numel();
    const Tensor* weights = ctx.InOrNull(kWeights);
    CheckClasses("Indices", found, n, classes);
    CheckClasses("Labels", label, n, classes);
    const IndexGuard found_class(ctx, kIndices, classes), label_class(ctx, kLabels, classes);
    CountStates(
        n, classes, weights ? weights->data<T>() : nullptr,
        [=] DYGRAPH_FN(int64_t i) { return Classes{found_class(found[i]), label_class(label[i])}; },
        states);
  }
};

REGISTER_OPERATOR(precision_recall, DefinePrecisionRecall);
REGISTER_KERNELS(precision_recall, PrecisionRecallKernel, float, double);

}  // namespace
}  // namespace dygraph

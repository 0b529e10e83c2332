#include "operators/arguments.h"

namespace dygraph {
namespace {

constexpr int kMaxProbs = 0, kIndices = 1, kLabels = 2, kWeights = 3, kStatesInfo = 4,
              kBatchMetrics = 0, kAccumMetrics = 1, kAccumStatesInfo = 2;
constexpr int kTp = 0, kFp = 1, kTn = 2, kFn = 3;  // columns of the states

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

double Ratio(double part, double rest) { return part > 0 || rest > 0 ? part / (part + rest) : 1; }
double F1(double p, double r) { return p > 0 || r > 0 ? 2 * p * r / (p + r) : 0; }

void Metrics(const std::vector<double>& states, double* to) {
  double precision = 0, recall = 0, tp = 0, fp = 0, fn = 0;
  size_t classes = states.size() / 4;
  for (size_t c = 0; c < classes; ++c) {
    const double* s = states.data() + 4 * c;
    precision += Ratio(s[kTp], s[kFp]);
    recall += Ratio(s[kTp], s[kFn]);
    tp += s[kTp], fp += s[kFp], fn += s[kFn];
  }
  to[0] = precision / static_cast<double>(classes);
  to[1] = recall / static_cast<double>(classes);
  to[2] = F1(to[0], to[1]);
  to[3] = Ratio(tp, fp);
  to[4] = Ratio(tp, fn);
  to[5] = F1(to[3], to[4]);
}

template <class T>
struct PrecisionRecallKernel {
  static void Compute(KernelContext& ctx) {
    int64_t classes = ctx.attrs<PrecisionRecallAttrs>().class_number;
    std::vector<int64_t> found = Integers(ctx.In(kIndices), "Indices");
    std::vector<int64_t> label = Integers(ctx.In(kLabels), "Labels");
    const Tensor *weights = ctx.InOrNull(kWeights), *earlier = ctx.InOrNull(kStatesInfo);
    for (const auto* list : {&found, &label}) {
      for (size_t i = 0; i < list->size(); ++i) {
        ENFORCE((*list)[i] >= 0 && (*list)[i] < classes, OutOfRange,
                list == &found ? "Indices" : "Labels", " must be classes in [0, ", classes,
                "), got ", (*list)[i], " at position ", i);
      }
    }
    std::vector<double> states(static_cast<size_t>(4 * classes), 0.0);
    double all = 0;
    for (size_t i = 0; i < label.size(); ++i) {
      double w = weights ? double{weights->data<T>()[i]} : 1.0;
      all += w;
      states[4 * label[i] + kTn] -= w;
      if (found[i] == label[i]) {
        states[4 * label[i] + kTp] += w;
      } else {
        states[4 * label[i] + kFn] += w;
        states[4 * found[i] + kFp] += w;
        states[4 * found[i] + kTn] -= w;
      }
    }
    for (int64_t c = 0; c < classes; ++c) states[4 * c + kTn] += all;
    if (Tensor* out = ctx.OutOrNull(kBatchMetrics)) Metrics(states, out->mutable_data<double>());
    for (size_t i = 0; earlier && i < states.size(); ++i) states[i] += earlier->data<T>()[i];
    if (Tensor* out = ctx.OutOrNull(kAccumMetrics)) Metrics(states, out->mutable_data<double>());
    Tensor* out = ctx.OutOrNull(kAccumStatesInfo);
    for (size_t i = 0; out && i < states.size(); ++i)
      out->mutable_data<T>()[i] = static_cast<T>(states[i]);
  }
};

REGISTER_OPERATOR(precision_recall, DefinePrecisionRecall);
REGISTER_CPU_KERNEL(precision_recall, PrecisionRecallKernel, float, double);

}  // namespace
}  // namespace dygraph

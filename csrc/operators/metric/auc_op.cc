#include <cmath>

#include "kernels/integer.h"
#include "operators/arguments.h"

namespace dygraph {
namespace {

constexpr int kPredict = 0, kLabel = 1, kStatPos = 2, kStatNeg = 3, kAuc = 0, kStatPosOut = 1,
              kStatNegOut = 2;

struct AucAttrs {
  std::string curve = "ROC";
  int32_t num_thresholds = (2 << 12) - 1;
  int32_t slide_steps = 1;
};

// Counts of each threshold; with sliding windows: those of every step, their sum, the step number.
int64_t StatSize(const AucAttrs& a) {
  int64_t buckets = int64_t{a.num_thresholds} + 1;
  return a.slide_steps == 0 ? buckets : (int64_t{a.slide_steps} + 1) * buckets + 1;
}

void InferShape(InferContext& ctx) {
  const AucAttrs& a = ctx.attrs<AucAttrs>();
  const Dims &p = ctx.dims(kPredict), &label = ctx.dims(kLabel);
  ENFORCE(p.rank() == 2 && (p[1] == 1 || p[1] == 2 || p[1] < 0), InvalidArgument,
          "Predict must hold probabilities [N, 1] or [N, 2], got shape ", p);
  ENFORCE((label.rank() == 1 || (label.rank() == 2 && (label[1] == 1 || label[1] < 0))) &&
              (label[0] == p[0] || !BothKnown(label[0], p[0])),
          InvalidArgument, "Label must have the shape [N, 1] for Predict ", p, ", got ", label);
  for (int slot : {kStatPos, kStatNeg}) {
    const Dims& d = ctx.dims(slot);
    const char* name = slot == kStatPos ? "StatPos" : "StatNeg";
    ENFORCE(d.HasUnknown() || Numel(d) == StatSize(a), InvalidArgument, name, " must hold ",
            StatSize(a), " counts for num_thresholds ", a.num_thresholds, " and slide_steps ",
            a.slide_steps, ", got shape ", d);
    ENFORCE(ctx.dtype(slot) == DType::kInt64, Type, name, " must be of int64, got ",
            ctx.dtype(slot), ". Make it with zeros of int64");
  }
  ctx.SetOutput(kAuc, Dims(), DType::kFloat64);
  ctx.SetOutput(kStatPosOut, ctx.dims(kStatPos), DType::kInt64);
  ctx.SetOutput(kStatNegOut, ctx.dims(kStatNeg), DType::kInt64);
}

void DefineAuc(OpDef& op) {
  op.Comment(
        "AUC = the area under the curve that num_thresholds thresholds draw: 'ROC', true over "
        "false positive rate, or 'PR', precision over recall. Counts of positive and negative "
        "samples go on in StatPos and StatNeg; with slide_steps above 0 only those of the last "
        "slide_steps calls count. 0 where one kind of label is missing.")
      .Example(
          ">>> predict = to_variable([[0.1], [0.6], [0.4], [0.9]])\n"
          ">>> label, none = to_variable([0, 0, 1, 1]), to_variable(np.zeros(10, \"int64\"))\n"
          ">>> out = F.auc(predict, label, none, none, num_thresholds=9, slide_steps=0)\n"
          ">>> out[0].item()  # of four pairs, 0.6 and 0.4 are the one in wrong order\n"
          "0.75")
      .Input(kPredict, "Predict", "[N, 1] or [N, 2], the last column the positive class's")
      .Input(kLabel, "Label", "[N, 1] or [N], int32 or int64, 0 or 1")
      .Input(kStatPos, "StatPos", "int64 counts")
      .Input(kStatNeg, "StatNeg", "int64 counts")
      .Output(kAuc, "AUC", "[], float64")
      .Output(kStatPosOut, "StatPosOut", "shape of StatPos")
      .Output(kStatNegOut, "StatNegOut", "shape of StatNeg")
      .Attr(&AucAttrs::curve, "curve", "ROC or PR", OneOf({"ROC", "PR"}))
      .Attr(&AucAttrs::num_thresholds, "num_thresholds", "how many", Between(1, 1 << 24))
      .Attr(&AucAttrs::slide_steps, "slide_steps", "calls that count; 0: all", Between(0, 1 << 16))
      .MixedDTypes()
      .KernelDTypeOf(kPredict)
      .Shape(InferShape)
      .InPlace(kStatPos, kStatPosOut)
      .InPlace(kStatNeg, kStatNegOut)
      .NoGrad();
}

// Counts wrap, as integers do everywhere.
void Count(int64_t* counter) { *counter = kernels::Plus(*counter, int64_t{1}); }

double Area(const int64_t* pos, const int64_t* neg, int64_t buckets, bool roc) {
  int64_t all_pos = 0, all_neg = 0;
  for (int64_t i = 0; i < buckets; ++i) {
    all_pos = kernels::Plus(all_pos, pos[i]);
    all_neg = kernels::Plus(all_neg, neg[i]);
  }
  if (all_pos == 0 || all_neg == 0) return 0;
  double area = 0, true_pos = 0, false_pos = 0, precision = 1;
  for (int64_t i = buckets - 1; i >= 0; --i) {
    if (pos[i] == 0 && neg[i] == 0) continue;
    double t = true_pos + static_cast<double>(pos[i]);
    double f = false_pos + static_cast<double>(neg[i]);
    double now = t / (t + f);
    area += roc ? (f - false_pos) * (t + true_pos) / 2 : (t - true_pos) * (now + precision) / 2;
    true_pos = t, false_pos = f, precision = now;
  }
  return area / static_cast<double>(all_pos) / (roc ? static_cast<double>(all_neg) : 1.0);
}

// Moves the window on by a step whose counts begin as zeros; gives where they are.
int64_t OpenStep(int64_t* stat, int64_t steps, int64_t buckets) {
  int64_t step = stat[(steps + 1) * buckets] % steps;
  if (step < 0) step += steps;
  for (int64_t i = 0; i < buckets; ++i) {
    stat[steps * buckets + i] =
        kernels::Minus(stat[steps * buckets + i], stat[step * buckets + i]);
    stat[step * buckets + i] = 0;
  }
  Count(&stat[(steps + 1) * buckets]);
  return step * buckets;
}

template <class T>
struct AucKernel {
  static void Compute(KernelContext& ctx) {
    const AucAttrs& a = ctx.attrs<AucAttrs>();
    const Tensor& predict = ctx.In(kPredict);
    int64_t n = predict.dim(0), width = predict.dim(1), buckets = int64_t{a.num_thresholds} + 1;
    const T* p = predict.data<T>();
    std::vector<int64_t> label = Integers(ctx.In(kLabel), "Label");
    for (int64_t i = 0; i < n; ++i) {
      T v = p[i * width + width - 1];
      ENFORCE(v >= T(0) && v <= T(1), InvalidArgument,
              "Predict must hold probabilities in [0, 1], got ", v, " in row ", i);
      ENFORCE(label[i] == 0 || label[i] == 1, InvalidArgument, "Label must hold 0 or 1, got ",
              label[i], " in row ", i);
    }
    int64_t *pos = Copied(ctx, kStatPos, kStatPosOut), *neg = Copied(ctx, kStatNeg, kStatNegOut);
    int64_t at_pos = 0, at_neg = 0, steps = a.slide_steps;
    if (steps > 0) at_pos = OpenStep(pos, steps, buckets), at_neg = OpenStep(neg, steps, buckets);
    for (int64_t i = 0; i < n; ++i) {
      auto bucket = static_cast<int64_t>(p[i * width + width - 1] * static_cast<T>(buckets - 1));
      Count((label[i] ? pos + at_pos : neg + at_neg) + bucket);
      if (steps > 0) Count((label[i] ? pos : neg) + steps * buckets + bucket);
    }
    *ctx.Out(kAuc).mutable_data<double>() =
        Area(pos + steps * buckets, neg + steps * buckets, buckets, a.curve == "ROC");
  }
  static int64_t* Copied(KernelContext& ctx, int in, int out) {
    const Tensor& from = ctx.In(in);
    int64_t* to = ctx.Out(out).mutable_data<int64_t>();
    const int64_t* data = from.data<int64_t>();
    if (to != data) std::copy(data, data + from.numel(), to);
    return to;
  }
};

REGISTER_OPERATOR(auc, DefineAuc);
REGISTER_CPU_KERNEL(auc, AucKernel, float, double);

}  // namespace
}  // namespace dygraph

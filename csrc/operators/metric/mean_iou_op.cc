#include "kernels/add_at.h"
#include "kernels/elementwise.h"
#include "kernels/fold.h"
#include "kernels/integer.h"
#include "op/index_guard.h"
#include "op/number.h"
#include "operators/arguments.h"
#include "operators/labels.h"
#include "operators/metric/class_numbers.h"

namespace dygraph {
namespace {

constexpr int kPredictions = 0, kLabels = 1, kInWrongs = 2, kInCorrects = 3, kInMeanIou = 4,
              kOutMeanIou = 0, kOutWrong = 1, kOutCorrect = 2;

struct MeanIouAttrs {
  int32_t num_classes = 2;
};

void InferShape(InferContext& ctx) {
  labels::CheckSameShape(ctx, kPredictions, kLabels);
  int64_t classes = ctx.attrs<MeanIouAttrs>().num_classes;
  for (int slot : {kInWrongs, kInCorrects}) {
    const char* name = slot == kInWrongs ? "InWrongs" : "InCorrects";
    for (int i = 0; i < ctx.InputCount(slot); ++i) {
      ENFORCE(labels::Fits(ctx.dims(slot, i), {classes}), InvalidArgument, name,
              " must have the shape [num_classes], [", classes, "], got ", ctx.dims(slot, i));
      ENFORCE(ctx.dtype(slot, i) == DType::kInt32, Type, name, " must be of int32, got ",
              ctx.dtype(slot, i));
    }
  }
  for (int i = 0; i < ctx.InputCount(kInMeanIou); ++i) {
    const Dims& d = ctx.dims(kInMeanIou, i);
    ENFORCE(d.HasUnknown() || Numel(d) == 1, InvalidArgument,
            "InMeanIou must hold one number, got shape ", d);
  }
  ctx.SetOutput(kOutMeanIou, Dims(), DType::kFloat32);
  ctx.SetOutput(kOutWrong, {classes}, DType::kInt32);
  ctx.SetOutput(kOutCorrect, {classes}, DType::kInt32);
}

void DefineMeanIou(OpDef& op) {
  op.Comment(
        "A prediction that is right counts in OutCorrect of its class, one that is wrong in "
        "OutWrong of both classes. OutMeanIou is the mean of OutCorrect / (OutCorrect + OutWrong), "
        "intersection over union, over the classes that occur. InWrongs, InCorrects and InMeanIou "
        "are added.")
      .Example(
          ">>> predictions, labels = to_variable([0, 1, 1, 1]), to_variable([0, 1, 1, 0])\n"
          ">>> mean, wrong, correct = F.mean_iou(predictions, labels, num_classes=2)\n"
          ">>> round(mean.item(), 4), wrong.tolist(), correct.tolist()\n"
          "(0.5833, [1, 1], [1, 2])")
      .Input(kPredictions, "Predictions", "int32 or int64 classes, any shape")
      .Input(kLabels, "Labels", "int32 or int64 classes, shape of Predictions")
      .Input(kInWrongs, "InWrongs", "[num_classes], int32", kDuplicable | kDispensable)
      .Input(kInCorrects, "InCorrects", "[num_classes], int32", kDuplicable | kDispensable)
      .Input(kInMeanIou, "InMeanIou", "one number each", kDuplicable | kDispensable)
      .Output(kOutMeanIou, "OutMeanIou", "[], float32")
      .Output(kOutWrong, "OutWrong", "[num_classes], int32")
      .Output(kOutCorrect, "OutCorrect", "[num_classes], int32")
      .Attr(&MeanIouAttrs::num_classes, "num_classes", "how many", Between(1, 1 << 24))
      .MixedDTypes()
      .KernelDType([](const Call&) { return DType::kInt64; })  // it reads either
      .Shape(InferShape)
      .NoGrad();
}

// Adds what each prediction counts as.
template <class P, class L>
void CountWrongAndCorrect(const KernelContext& ctx, const P* predicted, const L* labels,
                          int32_t* wrong, int32_t* correct) {
  const int64_t classes = ctx.attrs<MeanIouAttrs>().num_classes, n = ctx.In(kLabels).numel();
  CheckClasses("Predictions", predicted, n, classes);
  CheckClasses("Labels", labels, n, classes);
  const IndexGuard predicted_class(ctx, kPredictions, classes), label_class(ctx, kLabels, classes);
  kernels::ForEachAdding(n, [=] DYGRAPH_FN(int64_t i) {
    const int64_t p = predicted_class(predicted[i]), l = label_class(labels[i]);
    kernels::AddAt(p == l ? correct + l : wrong + l, 1);
    if (p != l) kernels::AddAt(wrong + p, 1);
  });
}

// The sum of what there is in a class, and how many classes there are.
struct Shares {
  double sum, present;
  DYGRAPH_INLINE Shares operator+(Shares b) const { return {sum + b.sum, present + b.present}; }
};

template <class>
struct MeanIouKernel {
  static void Compute(KernelContext& ctx) {
    const int64_t classes = ctx.attrs<MeanIouAttrs>().num_classes;
    Tensor *mean_out = ctx.OutOrNull(kOutMeanIou), *wrong_out = ctx.OutOrNull(kOutWrong),
           *correct_out = ctx.OutOrNull(kOutCorrect);
    Scratch room = ctx.Workspace(2 * classes * sizeof(int32_t));
    int32_t* wrong = wrong_out ? wrong_out->mutable_data<int32_t>() : room.as<int32_t>();
    int32_t* correct =
        correct_out ? correct_out->mutable_data<int32_t>() : room.as<int32_t>() + classes;
    Sum(ctx, kInWrongs, classes, wrong);
    Sum(ctx, kInCorrects, classes, correct);
    VisitIndices(ctx.In(kPredictions), "Predictions", [&](auto* predicted) {
      VisitIndices(ctx.In(kLabels), "Labels", [&](auto* labels) {
        CountWrongAndCorrect(ctx, predicted, labels, wrong, correct);
      });
    });
    if (!mean_out) return;
    float* to = mean_out->mutable_data<float>();
    Scratch room_of_mean = ctx.Workspace(sizeof(double));
    double* mean = room_of_mean.as<double>();
    kernels::Fill(mean, 1, 0.0);
    kernels::FoldAll(
        classes, Shares{0, 0},
        [=] DYGRAPH_FN(int64_t c) {
          const double all = static_cast<double>(wrong[c]) + correct[c];
          return all > 0 ? Shares{correct[c] / all, 1} : Shares{0, 0};
        },
        kernels::Sum(),
        [=] DYGRAPH_FN(Shares s) { *mean = s.present > 0 ? s.sum / s.present : 0; });
    for (int i = 0; i < ctx.InputCount(kInMeanIou); ++i) {
      const Number<double> add(ctx.In(kInMeanIou, i));
      kernels::ForEach(1, [=] DYGRAPH_FN(int64_t) { *mean += add(); });
    }
    kernels::ForEach(1, [=] DYGRAPH_FN(int64_t) { *to = static_cast<float>(*mean); });
  }
  static void Sum(const KernelContext& ctx, int slot, int64_t classes, int32_t* sum) {
    kernels::Fill(sum, classes, int32_t{0});
    for (int i = 0; i < ctx.InputCount(slot); ++i) {
      const int32_t* add = ctx.In(slot, i).data<int32_t>();
      kernels::ForEach(classes, [=] DYGRAPH_FN(int64_t c) {
        sum[c] = kernels::Plus(sum[c], add[c]);  // wraps
      });
    }
  }
};

REGISTER_OPERATOR(mean_iou, DefineMeanIou);
REGISTER_KERNELS(mean_iou, MeanIouKernel, int64_t);

}  // namespace
}  // namespace dygraph

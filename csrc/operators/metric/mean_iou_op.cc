#include "operators/arguments.h"
#include "operators/labels.h"

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

template <class>
struct MeanIouKernel {
  static void Compute(KernelContext& ctx) {
    int64_t classes = ctx.attrs<MeanIouAttrs>().num_classes;
    std::vector<int64_t> predicted = Integers(ctx.In(kPredictions), "Predictions");
    std::vector<int64_t> label = Integers(ctx.In(kLabels), "Labels");
    for (const auto* list : {&predicted, &label}) {
      for (size_t i = 0; i < list->size(); ++i) {
        ENFORCE((*list)[i] >= 0 && (*list)[i] < classes, OutOfRange,
                list == &label ? "Labels" : "Predictions", " must be classes in [0, ", classes,
                "), got ", (*list)[i], " at position ", i);
      }
    }
    std::vector<int32_t> wrong = Sum(ctx, kInWrongs, classes);
    std::vector<int32_t> correct = Sum(ctx, kInCorrects, classes);
    for (size_t i = 0; i < label.size(); ++i) {
      if (predicted[i] == label[i]) {
        ++correct[label[i]];
      } else {
        ++wrong[label[i]];
        ++wrong[predicted[i]];
      }
    }
    double sum = 0, present = 0;
    for (int64_t c = 0; c < classes; ++c) {
      double all = static_cast<double>(wrong[c]) + correct[c];
      if (all > 0) sum += correct[c] / all, ++present;
    }
    double mean = present > 0 ? sum / present : 0;
    for (int i = 0; i < ctx.InputCount(kInMeanIou); ++i) mean += Item(ctx.In(kInMeanIou, i));
    if (Tensor* out = ctx.OutOrNull(kOutMeanIou))
      *out->mutable_data<float>() = static_cast<float>(mean);
    if (Tensor* out = ctx.OutOrNull(kOutWrong))
      std::copy(wrong.begin(), wrong.end(), out->mutable_data<int32_t>());
    if (Tensor* out = ctx.OutOrNull(kOutCorrect))
      std::copy(correct.begin(), correct.end(), out->mutable_data<int32_t>());
  }
  static std::vector<int32_t> Sum(const KernelContext& ctx, int slot, int64_t classes) {
    std::vector<int32_t> sum(static_cast<size_t>(classes), 0);
    for (int i = 0; i < ctx.InputCount(slot); ++i) {
      const int32_t* add = ctx.In(slot, i).data<int32_t>();
      for (int64_t c = 0; c < classes; ++c)
        sum[c] =
            static_cast<int32_t>(static_cast<uint32_t>(sum[c]) + static_cast<uint32_t>(add[c]));
    }
    return sum;
  }
};

REGISTER_OPERATOR(mean_iou, DefineMeanIou);
REGISTER_CPU_KERNEL(mean_iou, MeanIouKernel, int64_t);

}  // namespace
}  // namespace dygraph

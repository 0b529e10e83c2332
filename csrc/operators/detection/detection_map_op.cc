#include <map>

#include "operators/arguments.h"
#include "operators/detection/boxes.h"
#include "operators/detection/images.h"

namespace dygraph::boxes {
namespace {

constexpr int kDetectRes = 0, kLabel = 1, kHasState = 2, kPosCount = 3, kTruePos = 4, kFalsePos = 5;
constexpr int kAccumPosCount = 0, kAccumTruePos = 1, kAccumFalsePos = 2, kMap = 3;

struct DetectionMapAttrs {
  int32_t class_num = 1, background_label = 0;
  double overlap_threshold = 0.5;
  bool evaluate_difficult = true;
  std::string ap_type = "integral";
};

void InferShape(InferContext& ctx) {
  const Dims &found = ctx.dims(kDetectRes), &label = ctx.dims(kLabel);
  ENFORCE(found.rank() == 2 && (found[1] == 6 || found[1] < 0 || found[1] == 1), InvalidArgument,
          "DetectRes must have shape [rows, 6]: class, score, box; got ", found);
  ENFORCE(label.rank() == 2 && (label[1] == 6 || label[1] == 5 || label[1] < 0), InvalidArgument,
          "Label must have shape [rows, 6]: class, difficult, box; or [rows, 5] without difficult; "
          "got ",
          label);
  const int64_t classes = ctx.attrs<DetectionMapAttrs>().class_num;
  ctx.SetOutput(kAccumPosCount, {classes, 1}, DType::kInt32);
  ctx.SetOutput(kAccumTruePos, {-1, 2});
  ctx.SetOutput(kAccumFalsePos, {-1, 2});
  ctx.SetOutput(kMap, Dims());
}

void DefineDetectionMap(OpDef& op) {
  using A = DetectionMapAttrs;
  op.Comment(
        "The mean over classes of the average precision (PASCAL VOC). A detection, cut off at the "
        "borders of the unit square, is right if the box of its class and image with which it "
        "overlaps most does so by more than overlap_threshold and no better detection had it. "
        "integral: the sum of precision times the growth of recall, in the order of scores; "
        "11point: the mean of the greatest precisions at a recall of at least 0, 0.1, ..., 1. "
        "Classes without a label and background_label do not count. With HasState the counts "
        "continue those of PosCount, TruePos and FalsePos.")
      .Example(
          ">>> found = to_variable([[1.0, 0.9, 0.0, 0.0, 0.5, 0.5], [1.0, 0.8, 0.5, 0.5, 1.0, "
          "1.0]], lod=[[0, 2]])\n"
          ">>> label = to_variable([[1.0, 0.5, 0.5, 1.0, 1.0]], lod=[[0, 1]])\n"
          ">>> F.detection_map(found, label, class_num=2)[3].item()\n"
          "0.5")
      .Input(kDetectRes, "DetectRes", "[rows, 6] with LoD: class, score, box in parts of the image")
      .Input(kLabel, "Label", "[rows, 6] with LoD: class, whether difficult, box; or without it")
      .Input(kHasState, "HasState", "one int32; not 0: the counts go on", kDispensable)
      .Input(kPosCount, "PosCount", "[class_num, 1], int32: labels so far", kDispensable)
      .Input(kTruePos, "TruePos", "[rows, 2] with LoD: scores, 1 for right ones", kDispensable)
      .Input(kFalsePos, "FalsePos", "[rows, 2] with LoD: scores, 1 for wrong ones", kDispensable)
      .Output(kAccumPosCount, "AccumPosCount", "[class_num, 1], int32")
      .Output(kAccumTruePos, "AccumTruePos", "[rows, 2] with LoD: those of each class")
      .Output(kAccumFalsePos, "AccumFalsePos", "[rows, 2] with LoD: those of each class")
      .Output(kMap, "MAP", "[]")
      .Attr(&A::class_num, "class_num", "the number of classes", Between(1, 1 << 24))
      .Attr(&A::background_label, "background_label", "the class that does not count")
      .Attr(&A::overlap_threshold, "overlap_threshold", "of right detections")
      .Attr(&A::evaluate_difficult, "evaluate_difficult",
            "False: labels marked difficult, and detections of them, do not count")
      .Attr(&A::ap_type, "ap_type", "integral or 11point", OneOf({"integral", "11point"}))
      .Shape(InferShape)
      .KernelDTypeOf(kDetectRes)
      .MixedDTypes()
      .KernelAllocates()
      .NoGrad();
}

struct Judged {
  double score;
  bool right;
};

// What is known of a class.
struct Class {
  int64_t labels = 0;
  std::vector<Judged> found;

  double AveragePrecision(bool integral) const {
    std::vector<Judged> sorted = found;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const Judged& x, const Judged& y) { return x.score > y.score; });
    double right = 0, sum = 0, most[11] = {};
    for (size_t i = 0; i < sorted.size(); ++i) {
      right += sorted[i].right;
      const double precision = right / static_cast<double>(i + 1);
      if (sorted[i].right) sum += precision / static_cast<double>(labels);
      for (int j = 0; j <= 10 && right * 10 >= j * static_cast<double>(labels); ++j)
        most[j] = std::max(most[j], precision);
    }
    if (integral) return sum;
    sum = 0;
    for (double precision : most) sum += precision / 11;
    return sum;
  }
};

template <class T>
struct DetectionMapKernel {
  struct Label {
    Box<T> box;
    bool difficult, taken;
  };

  static int64_t ClassOf(T value, int64_t classes, const char* slot) {
    ENFORCE(value >= 0 && value < static_cast<T>(classes), OutOfRange, slot,
            " must hold classes in [0, ", classes, "), got ", value);
    return static_cast<int64_t>(value);
  }

  // The rows of TruePos and FalsePos say the same of each detection.
  static void Read(const Tensor& right, const Tensor& wrong, std::vector<Class>* classes) {
    const auto count = static_cast<int64_t>(classes->size());
    const std::vector<int64_t>& offsets = images::OffsetsFor(right, "TruePos", count);
    ENFORCE(right.rank() == 2 && right.dim(1) == 2 && right.dtype() == DTypeOf<T>::value,
            InvalidArgument,
            "TruePos must be of the type of DetectRes and have shape [rows, 2], got ",
            right.dtype(), " of shape ", right.dims());
    ENFORCE(wrong.dims() == right.dims() && images::OffsetsFor(wrong, "FalsePos", count) == offsets,
            InvalidArgument, "FalsePos must have the shape and the level of detail of TruePos ",
            right.dims(), ", got ", wrong.dims());
    for (int64_t c = 0; c < count; ++c) {
      for (int64_t i = offsets[c]; i < offsets[c + 1]; ++i) {
        const T* row = right.data<T>() + i * 2;
        (*classes)[c].found.push_back({static_cast<double>(row[0]), row[1] != T(0)});
      }
    }
  }

  static void ReadState(const KernelContext& ctx, std::vector<Class>* classes) {
    const Tensor* state = ctx.InOrNull(kHasState);
    if (!state) return;
    const std::vector<int64_t> has = Integers(*state, "HasState");
    ENFORCE(has.size() == 1, InvalidArgument, "HasState must hold one integer, got shape ",
            state->dims());
    if (has[0] == 0) return;
    for (int slot : {kPosCount, kTruePos, kFalsePos}) {
      ENFORCE(ctx.HasInput(slot), InvalidArgument,
              "PosCount, TruePos and FalsePos must be given where HasState is not 0");
    }
    const std::vector<int64_t> labels = Integers(ctx.In(kPosCount), "PosCount");
    ENFORCE(labels.size() == classes->size(), InvalidArgument,
            "PosCount must hold a number for each of the ", classes->size(), " classes, got shape ",
            ctx.In(kPosCount).dims());
    for (size_t c = 0; c < classes->size(); ++c) (*classes)[c].labels = labels[c];
    Read(ctx.In(kTruePos), ctx.In(kFalsePos), classes);
  }

  static void Judge(const DetectionMapAttrs& a, const T* from, std::vector<int64_t> rows,
                    std::vector<Label>* labels, Class* of) {
    std::stable_sort(rows.begin(), rows.end(),
                     [&](int64_t x, int64_t y) { return from[x * 6 + 1] > from[y * 6 + 1]; });
    for (int64_t r : rows) {
      const Box<T> box = Box<T>::At(from + r * 6 + 2).Clipped(T(1), T(1));
      Label* best = nullptr;
      T most = -1;
      for (Label& label : *labels) {
        const T overlap = Overlap(box, label.box, T(0));
        if (overlap > most) most = overlap, best = &label;
      }
      const bool hits = best && most > static_cast<T>(a.overlap_threshold);
      if (hits && best->difficult && !a.evaluate_difficult) continue;
      of->found.push_back({static_cast<double>(from[r * 6 + 1]), hits && !best->taken});
      if (hits) best->taken = true;
    }
  }

  static void Count(const KernelContext& ctx, std::vector<Class>* classes) {
    const auto& a = ctx.attrs<DetectionMapAttrs>();
    const Tensor &found = ctx.In(kDetectRes), &label = ctx.In(kLabel);
    const std::vector<int64_t> of_label = images::OffsetsOf(label);
    const auto count = static_cast<int64_t>(of_label.size()) - 1;
    const bool nothing = found.dim(1) == 1;  // what multiclass_nms gives where it keeps nothing
    const std::vector<int64_t> of_found = nothing ? std::vector<int64_t>(count + 1, 0)
                                          : found.lod_levels().empty() && count == 1
                                              ? images::OffsetsOf(found)
                                              : images::OffsetsFor(found, "DetectRes", count);
    ENFORCE(label.dtype() == found.dtype(), Type, "Label must be of the type of DetectRes, ",
            found.dtype(), ", got ", label.dtype());
    const int64_t width = label.dim(1), number = a.class_num;
    for (int64_t image = 0; image < count; ++image) {
      std::map<int64_t, std::vector<Label>> labels;
      for (int64_t i = of_label[image]; i < of_label[image + 1]; ++i) {
        const T* row = label.data<T>() + i * width;
        const bool difficult = width == 6 && std::abs(row[1]) >= static_cast<T>(1e-6);
        const int64_t c = ClassOf(row[0], number, "Label");
        labels[c].push_back({Box<T>::At(row + width - 4), difficult, false});
        (*classes)[c].labels += a.evaluate_difficult || !difficult;
      }
      std::map<int64_t, std::vector<int64_t>> rows;
      for (int64_t i = of_found[image]; i < of_found[image + 1]; ++i)
        rows[ClassOf(found.data<T>()[i * 6], number, "DetectRes")].push_back(i);
      for (const auto& [c, of] : rows) Judge(a, found.data<T>(), of, &labels[c], &(*classes)[c]);
    }
  }

  static void WriteCounted(const std::vector<Class>& classes, bool right, Tensor* out,
                           Place place) {
    if (!out) return;
    std::vector<int64_t> offsets{0};
    for (const Class& c : classes)
      offsets.push_back(offsets.back() + static_cast<int64_t>(c.found.size()));
    out->Allocate({offsets.back(), 2}, DTypeOf<T>::value, place);
    T* to = out->mutable_data<T>();
    for (const Class& c : classes) {
      for (const Judged& found : c.found) {
        *to++ = static_cast<T>(found.score);
        *to++ = static_cast<T>(found.right == right);
      }
    }
    out->SetLoD(LoDLevels{offsets});
  }

  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<DetectionMapAttrs>();
    std::vector<Class> classes(a.class_num);
    ReadState(ctx, &classes);
    Count(ctx, &classes);
    double sum = 0, counted = 0;
    for (int64_t c = 0; c < a.class_num; ++c) {
      if (c == a.background_label || classes[c].labels == 0) continue;
      sum += classes[c].AveragePrecision(a.ap_type == "integral");
      ++counted;
    }
    if (Tensor* out = ctx.OutOrNull(kMap)) {
      out->Allocate(Dims(), DTypeOf<T>::value, ctx.place());
      *out->mutable_data<T>() = static_cast<T>(counted == 0 ? 0 : sum / counted);
    }
    if (Tensor* out = ctx.OutOrNull(kAccumPosCount)) {
      out->Allocate({a.class_num, 1}, DType::kInt32, ctx.place());
      for (int64_t c = 0; c < a.class_num; ++c)
        out->mutable_data<int32_t>()[c] = static_cast<int32_t>(classes[c].labels);
    }
    WriteCounted(classes, true, ctx.OutOrNull(kAccumTruePos), ctx.place());
    WriteCounted(classes, false, ctx.OutOrNull(kAccumFalsePos), ctx.place());
  }
};

REGISTER_OPERATOR(detection_map, DefineDetectionMap);
REGISTER_CPU_KERNEL(detection_map, DetectionMapKernel, float, double);

}  // namespace
}  // namespace dygraph::boxes

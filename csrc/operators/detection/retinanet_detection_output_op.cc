#include "operators/detection/multiclass.h"

namespace dygraph::detections {
namespace {

constexpr int kAnchors = 2, kImInfo = 3;

struct RetinanetDetectionOutputAttrs {
  double score_threshold = 0.05;
  int32_t nms_top_k = 1000;
  double nms_threshold = 0.3, nms_eta = 1.0;
  int32_t keep_top_k = 100;
};

void InferShape(InferContext& ctx) {
  const int levels = ctx.InputCount(kBBoxes);
  ENFORCE(levels > 0 && ctx.InputCount(kScores) == levels && ctx.InputCount(kAnchors) == levels,
          InvalidArgument, "BBoxes, Scores and Anchors must have one tensor for each level, got ",
          levels, ", ", ctx.InputCount(kScores), " and ", ctx.InputCount(kAnchors));
  const Dims& info = ctx.dims(kImInfo);
  ENFORCE(info.rank() == 2 && (info[1] == 3 || info[1] < 0), InvalidArgument,
          "ImInfo must have shape [N, 3], got ", info);
  auto fits = [](int64_t a, int64_t b) { return a == b || !BothKnown(a, b); };
  for (int i = 0; i < levels; ++i) {
    const Dims &boxes = ctx.dims(kBBoxes, i), &scores = ctx.dims(kScores, i),
               &anchors = ctx.dims(kAnchors, i);
    boxes::CheckBoxes(boxes, "BBoxes", 3);
    boxes::CheckBoxes(anchors, "Anchors");
    ENFORCE(scores.rank() == 3 && fits(boxes[0], scores[0]) && fits(boxes[1], scores[1]) &&
                fits(boxes[1], anchors[0]) && fits(boxes[0], info[0]) &&
                fits(scores[2], ctx.dims(kScores)[2]),
            InvalidArgument,
            "each level must have BBoxes [N, M, 4], Scores [N, M, C] and Anchors [M, 4], and "
            "ImInfo N rows, got ",
            boxes, ", ", scores, ", ", anchors, " and ", info);
  }
  ctx.SetOutput(kOut, {-1, 6});
}

void DefineRetinanetDetectionOutput(OpDef& op) {
  using A = RetinanetDetectionOutputAttrs;
  op.Comment(
        "The detections of RetinaNet (Lin et al., 2017). Of each level the nms_top_k best boxes "
        "and classes whose score is above score_threshold (in the last level above 0) are decoded "
        "from Anchors, divided by the image's scale and cut off at its borders; then "
        "multiclass_nms of all levels together. Rows [class + 1, score, box], by score.")
      .Example(
          ">>> boxes, scores = to_variable(np.zeros((1, 1, 4))), to_variable(np.array([[[0.5]]]))\n"
          ">>> anchors = to_variable(np.array([[0.0, 0.0, 7.0, 7.0]]))\n"
          ">>> info = to_variable(np.array([[8.0, 8.0, 1.0]]))\n"
          ">>> F.retinanet_detection_output([boxes], [scores], [anchors], info).tolist()\n"
          "[[1.0, 0.5, 0.0, 0.0, 7.0, 7.0]]")
      .Input(kBBoxes, "BBoxes", "of each level [N, M, 4], relative to Anchors", kDuplicable)
      .Input(kScores, "Scores", "of each level [N, M, C]", kDuplicable)
      .Input(kAnchors, "Anchors", "of each level [M, 4]", kDuplicable)
      .Input(kImInfo, "ImInfo", "[N, 3]: height, width and scale of each image")
      .Output(kOut, "Out", "[kept, 6], with LoD: those of each image")
      .Attr(&A::score_threshold, "score_threshold", "only greater scores count")
      .Attr(&A::nms_top_k, "nms_top_k", "at most so many of a level are compared; -1: all",
            AtLeast(-1))
      .Attr(&A::nms_threshold, "nms_threshold", "the greatest overlap of boxes that are kept")
      .Attr(&A::nms_eta, "nms_eta", "the factor of the threshold after each box kept")
      .Attr(&A::keep_top_k, "keep_top_k", "at most so many are kept of an image; -1: all",
            AtLeast(-1))
      .Shape(InferShape)
      .KernelAllocates()
      .NoGrad();
}

template <class T>
struct RetinanetDetectionOutputKernel {
  using Box = boxes::Box<T>;
  using CenterSize = boxes::CenterSize<T>;

  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<RetinanetDetectionOutputAttrs>();
    const Tensor& info = ctx.In(kImInfo);
    const int64_t n = info.dim(0), classes = ctx.In(kScores).dim(2);
    const int levels = ctx.InputCount(kBBoxes);
    std::vector<Found<T>> images(n);
    // By image: classes of [box, ...], and their scores.
    std::vector<std::vector<std::vector<T>>> boxes(n), scores(n);
    for (int64_t image = 0; image < n; ++image) {
      const T* of = info.data<T>() + image * 3;
      const T bottom = std::round(of[0] / of[2]) - 1, right = std::round(of[1] / of[2]) - 1;
      boxes[image].resize(classes), scores[image].resize(classes);
      for (int level = 0; level < levels; ++level) {
        const int64_t count = ctx.In(kBBoxes, level).dim(1);
        const T* box = ctx.In(kBBoxes, level).template data<T>() + image * count * 4;
        const T* score = ctx.In(kScores, level).template data<T>() + image * count * classes;
        const T* anchors = ctx.In(kAnchors, level).template data<T>();
        const T least = level + 1 < levels ? static_cast<T>(a.score_threshold) : T(0);
        for (int64_t i : boxes::Best(score, count * classes, 1, least, a.nms_top_k)) {
          const T* d = box + i / classes * 4;
          const Box b = CenterSize::Of(Box::At(anchors + i / classes * 4), T(1))
                            .Moved({d[0], d[1], d[2], d[3]})
                            .Corners(T(1));
          const Box cut = (b / of[2]).Clipped(right, bottom);
          boxes[image][i % classes].insert(boxes[image][i % classes].end(),
                                           {cut.x0, cut.y0, cut.x1, cut.y1});
          scores[image][i % classes].push_back(score[i]);
        }
      }
      for (int64_t c = 0; c < classes; ++c) {
        const std::vector<T>& score = scores[image][c];
        const T* box = boxes[image][c].data();
        const auto order =
            boxes::Best(score.data(), static_cast<int64_t>(score.size()), 1, T(-1), -1);
        for (int64_t i : boxes::SuppressBoxes(order, box, static_cast<T>(a.nms_threshold),
                                              static_cast<T>(a.nms_eta), T(1)))
          images[image].push_back({c + 1, i, score[i], box + i * 4, i});
      }
      BestFirst(a.keep_top_k, &images[image]);
    }
    Write(ctx, images, 4, false);
  }
};

REGISTER_OPERATOR(retinanet_detection_output, DefineRetinanetDetectionOutput);
REGISTER_CPU_KERNEL(retinanet_detection_output, RetinanetDetectionOutputKernel, float, double);

}  // namespace
}  // namespace dygraph::detections

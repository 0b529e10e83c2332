#include "operators/detection/multiclass.h"

namespace dygraph::detections {
namespace {

struct LocalityAwareNmsAttrs {
  int32_t background_label = -1;
  double score_threshold = 0;
  int32_t nms_top_k = -1;
  double nms_threshold = 0.3, nms_eta = 1.0;
  int32_t keep_top_k = -1;
  bool normalized = true;
};

void DefineLocalityAwareNms(OpDef& op) {
  using A = LocalityAwareNmsAttrs;
  op.Comment(
        "multiclass_nms of boxes that were merged first (EAST, Zhou et al., 2017): in the order of "
        "M, a box that overlaps with the one before by more than nms_threshold is joined with it, "
        "into the mean of both weighted with their scores, whose score is the sum. Classes are "
        "merged one after another, each on the boxes that the one before left. [[-1]] where "
        "nothing "
        "is kept in any image.")
      .Example(
          ">>> boxes = to_variable([[[0.0, 0.0, 4.0, 4.0], [0.0, 0.0, 4.0, 3.0]]])\n"
          ">>> F.locality_aware_nms(boxes, to_variable([[[0.5, 0.5]]])).tolist()\n"
          "[[0.0, 1.0, 0.0, 0.0, 4.0, 3.5]]")
      .Input(kBBoxes, "BBoxes",
             "[N, M, 4] sides of boxes, or corners of polygons, 8, 16, 24 or 32 numbers each")
      .Input(kScores, "Scores", "[N, C, M]")
      .Output(kOut, "Out", "[kept, 2 + numbers of a box], with LoD: those of each image");
  op.Attr(&A::background_label, "background_label", "the class that is left out; -1: none")
      .Attr(&A::score_threshold, "score_threshold", "only boxes of a greater score count")
      .Attr(&A::nms_top_k, "nms_top_k", "at most so many boxes of a class are compared; -1: all",
            AtLeast(-1))
      .Attr(&A::nms_threshold, "nms_threshold", "the greatest overlap of boxes that are kept")
      .Attr(&A::nms_eta, "nms_eta", "the factor of the threshold after each box kept")
      .Attr(&A::keep_top_k, "keep_top_k", "at most so many are kept of an image; -1: all",
            AtLeast(-1))
      .Attr(&A::normalized, "normalized",
            "False: sides are pixels, and a box from 2 to 4 is 3 wide")
      .Shape([](InferContext& ctx) {
        CheckBatch(ctx.dims(kBBoxes), ctx.dims(kScores));
        ctx.SetOutput(kOut, {-1, -1});  // [[-1]] where nothing is kept
      })
      .KernelDTypeOf(kScores)
      .KernelAllocates()
      .NoGrad();
}

template <class T>
struct LocalityAwareNmsKernel {
  // Joins neighbours into the first of them; the others lose their score.
  static void Merge(int64_t count, int64_t size, T threshold, T unit, T* boxes, T* scores,
                    std::vector<int64_t>* heads) {
    int64_t head = -1;
    for (int64_t i = 0; i < count; ++i) {
      T* with = boxes + std::max<int64_t>(head, 0) * size;
      const T* box = boxes + i * size;
      if (head >= 0 && polygons::Overlap(box, with, size, unit) > threshold) {
        const T all = scores[i] + scores[head];
        for (int64_t k = 0; k < size; ++k)
          with[k] = (box[k] * scores[i] + with[k] * scores[head]) / all;
        scores[head] = all;
      } else {
        heads->push_back(head = i);
      }
    }
  }

  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<LocalityAwareNmsAttrs>();
    const Tensor &boxes = ctx.In(kBBoxes), &scores = ctx.In(kScores);
    const int64_t n = boxes.dim(0), count = boxes.dim(1), size = boxes.dim(2);
    const int64_t classes = scores.dim(1);
    const T unit = a.normalized ? T(0) : T(1), threshold = static_cast<T>(a.nms_threshold);
    std::vector<T> box(boxes.data<T>(), boxes.data<T>() + boxes.numel());
    std::vector<T> score(scores.data<T>(), scores.data<T>() + scores.numel());
    std::vector<Found<T>> images(n);
    for (int64_t image = 0; image < n; ++image) {
      T* b = box.data() + image * count * size;
      for (int64_t c = 0; c < classes; ++c) {
        if (c == a.background_label) continue;
        T* s = score.data() + (image * classes + c) * count;
        std::vector<int64_t> heads;
        Merge(count, size, threshold, unit, b, s, &heads);
        std::vector<T> of_heads(heads.size());
        for (size_t h = 0; h < heads.size(); ++h) of_heads[h] = s[heads[h]];
        std::vector<int64_t> order =
            boxes::Best(of_heads.data(), static_cast<int64_t>(heads.size()), 1,
                        static_cast<T>(a.score_threshold), a.nms_top_k);
        for (int64_t& i : order) i = heads[i];
        for (int64_t i : Suppress(order, b, size, size, threshold, static_cast<T>(a.nms_eta), unit))
          images[image].push_back({c, i, s[i], b + i * size, image * count + i});
      }
      KeepBest(a.keep_top_k, &images[image]);
    }
    Write(ctx, images, size, true);
  }
};

REGISTER_OPERATOR(locality_aware_nms, DefineLocalityAwareNms);
REGISTER_CPU_KERNEL(locality_aware_nms, LocalityAwareNmsKernel, float, double);

}  // namespace
}  // namespace dygraph::detections

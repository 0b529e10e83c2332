#include "operators/detection/multiclass.h"

namespace dygraph::detections {
namespace {

constexpr int kRoisNum = 2;

struct MatrixNmsAttrs {
  int32_t background_label = 0;
  double score_threshold = 0, post_threshold = 0;
  int32_t nms_top_k = -1, keep_top_k = -1;
  bool normalized = true, use_gaussian = false;
  double gaussian_sigma = 2.0;
};

void DefineMatrixNms(OpDef& op) {
  using A = MatrixNmsAttrs;
  op.Comment(
        "Matrix NMS (SOLOv2, Wang et al., 2020): in each class of each image, the score of a box "
        "is "
        "multiplied by the least decay that a better box j causes: (1 - overlap) / (1 - m_j), or "
        "exp((m_j^2 - overlap^2) * gaussian_sigma) with use_gaussian, where m_j is the greatest "
        "overlap of j with a box better still. Boxes whose score stays above post_threshold are "
        "kept, of all classes the keep_top_k best. Rows [class, score, box], by score.")
      .Example(
          ">>> boxes = to_variable([[[0.0, 0.0, 4.0, 4.0], [0.0, 0.0, 4.0, 2.0]]])\n"
          ">>> scores = to_variable([[[1.0, 0.5]]])\n"
          ">>> out, index, counts = F.matrix_nms(boxes, scores, background_label=-1)\n"
          ">>> out[:, 1].tolist(), index.tolist(), counts.tolist()\n"
          "([1.0, 0.25], [[0], [1]], [2])")
      .Input(kBBoxes, "BBoxes", "[N, M, 4]")
      .Input(kScores, "Scores", "[N, C, M]")
      .Output(kOut, "Out", "[kept, 6], with LoD: those of each image")
      .Output(kIndex, "Index", "[kept, 1], int32: the box among those of all images")
      .Output(kRoisNum, "RoisNum", "[N], int32: how many are kept of each image");
  DeclareLimits<A>(op);
  DeclareOthers<A>(op);
  op.Attr(&A::post_threshold, "post_threshold",
          "only boxes whose decayed score is greater are kept")
      .Attr(&A::use_gaussian, "use_gaussian", "True: the decay is Gaussian, False: linear")
      .Attr(&A::gaussian_sigma, "gaussian_sigma", "of use_gaussian")
      .Shape([](InferContext& ctx) {
        const Dims& boxes = ctx.dims(kBBoxes);
        CheckBatch(boxes, ctx.dims(kScores));
        ENFORCE(boxes[2] == 4 || boxes[2] < 0, InvalidArgument,
                "BBoxes must have shape [N, M, 4], got ", boxes);
        ctx.SetOutput(kOut, {-1, 6});
        ctx.SetOutput(kIndex, {-1, 1}, DType::kInt32);
        ctx.SetOutput(kRoisNum, {boxes[0]}, DType::kInt32);
      })
      .KernelDTypeOf(kScores)
      .KernelAllocates()
      .NoGrad();
}

template <class T>
struct MatrixNmsKernel {
  // What the scores of `order`, best first, become.
  static std::vector<T> Decayed(const MatrixNmsAttrs& a, const std::vector<int64_t>& order,
                                const T* boxes, const T* scores) {
    const T unit = a.normalized ? T(0) : T(1), sigma = static_cast<T>(a.gaussian_sigma);
    std::vector<T> most(order.size(), T(0)), decayed(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
      const boxes::Box<T> box = boxes::Box<T>::At(boxes + order[i] * 4);
      T least = 1;
      for (size_t j = 0; j < i; ++j) {
        const T o = boxes::Overlap(box, boxes::Box<T>::At(boxes + order[j] * 4), unit);
        const T decay = a.use_gaussian ? std::exp((most[j] * most[j] - o * o) * sigma)
                                       : (T(1) - o) / (T(1) - most[j]);
        least = std::min(least, decay);
        most[i] = std::max(most[i], o);
      }
      decayed[i] = least * scores[order[i]];
    }
    return decayed;
  }

  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<MatrixNmsAttrs>();
    const Tensor &boxes = ctx.In(kBBoxes), &scores = ctx.In(kScores);
    const int64_t n = boxes.dim(0), count = boxes.dim(1), classes = scores.dim(1);
    std::vector<Found<T>> all(n);
    for (int64_t image = 0; image < n; ++image) {
      const T* box = boxes.data<T>() + image * count * 4;
      Found<T>& found = all[image];
      for (int64_t c = 0; c < classes; ++c) {
        if (c == a.background_label) continue;
        const T* score = scores.data<T>() + (image * classes + c) * count;
        const std::vector<int64_t> order =
            boxes::Best(score, count, 1, static_cast<T>(a.score_threshold), a.nms_top_k);
        const std::vector<T> decayed = Decayed(a, order, box, score);
        for (size_t i = 0; i < order.size(); ++i) {
          if (decayed[i] > static_cast<T>(a.post_threshold))
            found.push_back(
                {c, order[i], decayed[i], box + order[i] * 4, image * count + order[i]});
        }
      }
      BestFirst(a.keep_top_k, &found);
    }
    Write(ctx, all, 4, false);
    WriteIndex(ctx, all);
    images::WriteCounts(Offsets(all), ctx.OutOrNull(kRoisNum), ctx.place());
  }
};

REGISTER_OPERATOR(matrix_nms, DefineMatrixNms);
REGISTER_CPU_KERNEL(matrix_nms, MatrixNmsKernel, float, double);

}  // namespace
}  // namespace dygraph::detections

#include "kernels/parallel.h"
#include "operators/detection/multiclass.h"

// multiclass_nms, and with the numbers of the boxes multiclass_nms2 and multiclass_nms3.
namespace dygraph::detections {
namespace {

constexpr int kRoisNum = 2, kNmsRoisNum = 2;  // of multiclass_nms3

void InferShape(InferContext& ctx) {
  const Dims &boxes = ctx.dims(kBBoxes), &scores = ctx.dims(kScores);
  ENFORCE(boxes.rank() == 3, InvalidArgument, "BBoxes must have 3 axes, got shape ", boxes);
  if (scores.rank() == 2) {
    ENFORCE(boxes[2] == 4 || boxes[2] < 0, InvalidArgument,
            "BBoxes must have shape [rows, C, 4] with Scores [rows, C], got ", boxes);
    for (int axis : {0, 1}) {
      ENFORCE(boxes[axis] == scores[axis] || !BothKnown(boxes[axis], scores[axis]), InvalidArgument,
              "Scores must have the rows and classes of BBoxes ", boxes, ", got ", scores);
    }
  } else {
    CheckBatch(boxes, scores);
  }
  ENFORCE(ctx.dtype(kBBoxes) == ctx.dtype(kScores), Type, "BBoxes must be of the type of Scores, ",
          ctx.dtype(kScores), ", got ", ctx.dtype(kBBoxes));
  const bool or_none = ctx.call().op->outputs.size() < 2;  // [[-1]] where nothing is kept
  ctx.SetOutput(kOut, {-1, or_none ? -1 : AddSizes(boxes[2], 2)});
  if (or_none) return;
  ctx.SetOutput(kIndex, {-1, 1}, DType::kInt32);
  if (ctx.call().op->outputs.size() > 2) ctx.SetOutput(kNmsRoisNum, {-1}, DType::kInt32);
}

std::string CommentWith(const char* end) {
  return std::string(
             "Non-maximum suppression in each class of each image: of the boxes whose score is "
             "above score_threshold, the nms_top_k best, a box is kept if it overlaps with none "
             "kept before, whose score is greater, by more than nms_threshold (intersection over "
             "union); of all classes the keep_top_k best are kept. With nms_eta below 1 the "
             "threshold is multiplied by it after each box kept, while above 0.5. Rows [class, "
             "score, box], by class, then by score. ") +
         end;
}

void DefineCommon(OpDef& op) {
  op.Input(kBBoxes, "BBoxes",
           "[N, M, 4] sides of boxes, or corners of polygons, 8, 16, 24 or 32 numbers each; with "
           "Scores [rows, C]: [rows, C, 4] with LoD")
      .Input(kScores, "Scores", "[N, C, M]; or [rows, C]");
}

void DeclareAttrs(OpDef& op) {
  DeclareLimits<Attrs>(op);
  DeclareOthers<Attrs>(op);
  op.Attr(&Attrs::nms_threshold, "nms_threshold", "the greatest overlap of boxes that are kept")
      .Attr(&Attrs::nms_eta, "nms_eta", "the factor of the threshold")
      .Shape(InferShape)
      .KernelDTypeOf(kScores)
      .MixedDTypes()
      .KernelAllocates()
      .NoGrad();
}

void DefineMulticlassNms(OpDef& op) {
  op.Comment(CommentWith("[[-1]] where nothing is kept in any image.").c_str())
      .Example(
          ">>> boxes = to_variable([[[0.0, 0.0, 4.0, 4.0], [0.0, 0.0, 4.0, 3.0], "
          "[6.0, 6.0, 8.0, 8.0]]])\n"
          ">>> scores = to_variable([[[0.75, 0.5, 0.25]]])\n"
          ">>> out = F.multiclass_nms(boxes, scores, background_label=-1)\n"
          ">>> out.tolist(), out.lod()\n"
          "([[0.0, 0.75, 0.0, 0.0, 4.0, 4.0], [0.0, 0.25, 6.0, 6.0, 8.0, 8.0]], [[0, 2]])");
  DefineCommon(op);
  op.Output(kOut, "Out",
            "[kept, 6] (or 2 + the numbers of a polygon), with LoD: those of each "
            "image");
  DeclareAttrs(op);
}

void DefineMulticlassNms2(OpDef& op) {
  op.Comment(CommentWith(
                 "No rows where nothing is kept. Index = the number of each box among those of all "
                 "images.")
                 .c_str())
      .Example(
          ">>> boxes, scores = to_variable([[[0.0, 0.0, 4.0, 4.0]]]), to_variable([[[0.5]]])\n"
          ">>> F.multiclass_nms2(boxes, scores, score_threshold=0.9, background_label=-1).shape\n"
          "(0, 6)");
  DefineCommon(op);
  op.Output(kOut, "Out",
            "[kept, 6] (or 2 + the numbers of a polygon), with LoD: those of each "
            "image")
      .Output(kIndex, "Index", "[kept, 1], int32", kIntermediate);
  DeclareAttrs(op);
}

void DefineMulticlassNms3(OpDef& op) {
  op.Comment(CommentWith(
                 "No rows where nothing is kept. Index = the number of each box among those of all "
                 "images, NmsRoisNum = how many are kept of each image.")
                 .c_str())
      .Example(
          ">>> boxes, scores = to_variable([[[0.0, 0.0, 4.0, 4.0]]]), to_variable([[[0.5]]])\n"
          ">>> out, index, counts = F.multiclass_nms3(boxes, scores, background_label=-1)\n"
          ">>> out.tolist(), index.tolist(), counts.tolist()\n"
          "([[0.0, 0.5, 0.0, 0.0, 4.0, 4.0]], [[0]], [1])");
  DefineCommon(op);
  op.Input(kRoisNum, "RoisNum", "[N] integers: the rows of each image, in place of a LoD",
           kDispensable)
      .Output(kOut, "Out",
              "[kept, 6] (or 2 + the numbers of a polygon), with LoD: those of each "
              "image")
      .Output(kIndex, "Index", "[kept, 1], int32")
      .Output(kNmsRoisNum, "NmsRoisNum", "[N], int32");
  DeclareAttrs(op);
}

// The rows of each image where BBoxes is [rows, C, 4].
std::vector<int64_t> RowsOf(const KernelContext& ctx, const Tensor& boxes) {
  const bool counted = ctx.call().op->inputs.size() > 2 && ctx.HasInput(kRoisNum);
  if (!counted) {
    const LoDLevels& lod = boxes.lod_levels();
    ENFORCE(!lod.empty(), InvalidArgument,
            "BBoxes must have a level of detail with Scores [rows, C]: the rows of each image. "
            "Give it with to_variable(value, lod=[[0, 2, 5]])");
    return lod.back();
  }
  return images::OffsetsOfCounts(ctx.In(kRoisNum), "RoisNum", boxes.dim(0));
}

template <class T>
struct MulticlassNmsKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<Attrs>();
    const Tensor &boxes = ctx.In(kBBoxes), &scores = ctx.In(kScores);
    const int64_t size = boxes.dim(2);
    const T *box = boxes.data<T>(), *score = scores.data<T>();
    const bool by_row = scores.rank() == 2;  // each class has boxes of its own
    const int64_t classes = scores.dim(1);
    std::vector<int64_t> offsets;
    if (by_row) {
      offsets = RowsOf(ctx, boxes);
    } else {
      for (int64_t i = 0; i <= boxes.dim(0); ++i) offsets.push_back(i * boxes.dim(1));
    }
    std::vector<Found<T>> found(offsets.size() - 1);
    auto in_image = [&](int64_t image) {
      const int64_t first = offsets[image], count = offsets[image + 1] - first;
      const int64_t box_stride = by_row ? classes * 4 : size, score_stride = by_row ? classes : 1;
      for (int64_t c = 0; c < classes; ++c) {
        if (c == a.background_label) continue;
        const T* b = box + (by_row ? (first * classes + c) * 4 : first * size);
        const T* s = score + (by_row ? first * classes + c : (first * classes + c * count));
        std::vector<int64_t> kept = Suppress(
            boxes::Best(s, count, score_stride, static_cast<T>(a.score_threshold), a.nms_top_k), b,
            size, box_stride, static_cast<T>(a.nms_threshold), static_cast<T>(a.nms_eta),
            a.normalized ? T(0) : T(1));
        if (by_row) std::sort(kept.begin(), kept.end());
        for (int64_t i : kept) {
          found[image].push_back({c, i, s[i * score_stride], b + i * box_stride,
                                  by_row ? (first + i) * classes + c : first + i});
        }
      }
      KeepBest(a.keep_top_k, &found[image]);
      if (by_row) {
        std::stable_sort(found[image].begin(), found[image].end(),
                         [](const auto& x, const auto& y) {
                           return x.label < y.label || (x.label == y.label && x.box < y.box);
                         });
      }
    };
    const auto n = static_cast<int64_t>(found.size());
    kernels::ParallelRows(n, n ? scores.numel() / n * 64 : 0, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) in_image(i);
    });
    const size_t outputs = ctx.call().op->outputs.size();
    Write(ctx, found, size, outputs == 1);
    if (outputs > 1) WriteIndex(ctx, found);
    if (outputs > 2) images::WriteCounts(Offsets(found), ctx.OutOrNull(kNmsRoisNum), ctx.place());
  }
};

REGISTER_OPERATOR(multiclass_nms, DefineMulticlassNms);
REGISTER_CPU_KERNEL(multiclass_nms, MulticlassNmsKernel, float, double);
REGISTER_OPERATOR(multiclass_nms2, DefineMulticlassNms2);
REGISTER_CPU_KERNEL(multiclass_nms2, MulticlassNmsKernel, float, double);
REGISTER_OPERATOR(multiclass_nms3, DefineMulticlassNms3);
REGISTER_CPU_KERNEL(multiclass_nms3, MulticlassNmsKernel, float, double);

}  // namespace
}  // namespace dygraph::detections

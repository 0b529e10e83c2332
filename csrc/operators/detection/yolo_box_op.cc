#include "kernels/elementwise.h"
#include "kernels/table.h"
#include "operators/detection/box_pairs.h"
#include "operators/detection/yolo.h"

namespace dygraph::yolo {
namespace {

constexpr int kX = 0, kImgSize = 1, kBoxes = 0, kScores = 1;

struct YoloBoxAttrs {
  std::vector<int32_t> anchors;
  int32_t class_num = 1;
  double conf_thresh = 0.01;
  int32_t downsample_ratio = 32;
  bool clip_bbox = true;
  double scale_x_y = 1.0;
  bool iou_aware = false;
  double iou_aware_factor = 0.5;
};

void InferShape(InferContext& ctx) {
  const auto& a = ctx.attrs<YoloBoxAttrs>();
  const Dims &x = ctx.dims(kX), &size = ctx.dims(kImgSize);
  CheckAnchors(a.anchors);
  const auto anchors = static_cast<int64_t>(a.anchors.size()) / 2;
  CheckX(x, anchors, 5 + int64_t{a.class_num} + a.iou_aware, "anchors / 2");
  ENFORCE(size.rank() == 2 && (size[1] == 2 || size[1] < 0) &&
              (size[0] == x[0] || !BothKnown(size[0], x[0])),
          InvalidArgument, "ImgSize must hold a height and a width for each image of X ", x,
          ", got shape ", size);
  const int64_t boxes = MulSizes(MulSizes(x[2], x[3]), anchors);
  ctx.SetOutput(kBoxes, {x[0], boxes, 4});
  ctx.SetOutput(kScores, {x[0], boxes, a.class_num});
}

void DefineYoloBox(OpDef& op) {
  op.Comment(
        "The boxes and scores that a YOLO head predicts (Redmon and Farhadi, YOLOv3, 2018). For "
        "cell (i, j) and an anchor, the middle of a box is (j + sigmoid(tx), i + sigmoid(ty)) "
        "cells, its size the anchor's times exp(tw), exp(th); scores are sigmoid(to) "
        "sigmoid(classes). Boxes whose sigmoid(to) is below conf_thresh are zeros with scores of "
        "zeros.")
      .Example(
          ">>> x, size = to_variable(np.zeros((1, 6, 1, 1))), to_variable(np.array([[32, 64]]))\n"
          ">>> boxes, scores = F.yolo_box(x, size.astype(\"int32\"), anchors=[16, 8])\n"
          ">>> boxes.tolist(), scores.tolist()\n"
          "([[[16.0, 12.0, 48.0, 20.0]]], [[[0.25]]])")
      .Input(kX, "X",
             "[N, A * (5 + class_num), H, W]: tx, ty, tw, th, to and the classes for each of A "
             "anchors; with iou_aware A channels of overlaps before them")
      .Input(kImgSize, "ImgSize", "[N, 2] int32, height and width of each image", kOnHost)
      .Output(kBoxes, "Boxes", "[N, A * H * W, 4], corners in pixels of the images")
      .Output(kScores, "Scores", "[N, A * H * W, class_num]")
      .Attr(&YoloBoxAttrs::anchors, "anchors", "width and height of each anchor, in pixels",
            EachAtLeast(1))
      .Attr(&YoloBoxAttrs::class_num, "class_num", "number of classes", AtLeast(1))
      .Attr(&YoloBoxAttrs::conf_thresh, "conf_thresh", "least confidence of a box")
      .Attr(&YoloBoxAttrs::downsample_ratio, "downsample_ratio",
            "pixels of the network's input for a cell", AtLeast(1))
      .Attr(&YoloBoxAttrs::clip_bbox, "clip_bbox", "boxes are cut at the borders of the image")
      .Attr(&YoloBoxAttrs::scale_x_y, "scale_x_y",
            "s: a middle is s sigmoid(t) - (s - 1) / 2 into its cell")
      .Attr(&YoloBoxAttrs::iou_aware, "iou_aware", "X has predicted overlaps (PP-YOLO)")
      .Attr(&YoloBoxAttrs::iou_aware_factor, "iou_aware_factor",
            "f: the confidence is sigmoid(to)^(1 - f) sigmoid(overlap)^f", Between(0, 1))
      .MixedDTypes()
      .KernelDTypeOf(kX)
      .Shape(InferShape)
      .NoGrad();
}

template <class T>
struct YoloBoxKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<YoloBoxAttrs>();
    const Tensor& x = ctx.In(kX);
    const std::vector<int64_t> sizes = Integers(ctx.In(kImgSize), "ImgSize");
    const int64_t h = x.dim(2), w = x.dim(3), cells = h * w;
    const auto anchors = static_cast<int64_t>(a.anchors.size()) / 2;
    const int64_t classes = a.class_num, entries = 5 + classes;
    Tensor *boxes = ctx.OutOrNull(kBoxes), *scores = ctx.OutOrNull(kScores);
    T* box = boxes ? boxes->mutable_data<T>() : nullptr;
    T* score = scores ? scores->mutable_data<T>() : nullptr;
    if (box) kernels::Fill(box, boxes->numel(), T(0));
    if (score) kernels::Fill(score, scores->numel(), T(0));
    const T *from = x.data<T>(), scale = static_cast<T>(a.scale_x_y);
    const T shift = (scale - T(1)) / T(2), threshold = static_cast<T>(a.conf_thresh);
    const T factor = static_cast<T>(a.iou_aware_factor);
    kernels::Table<int64_t> size_table(sizes);
    kernels::Table<int32_t> anchor_table(a.anchors);
    const int64_t *size = size_table.data(), channels = x.dim(1);
    const int32_t* side = anchor_table.data();
    const bool aware = a.iou_aware, clips = a.clip_bbox;
    const T ratio = static_cast<T>(a.downsample_ratio);
    dygraph::boxes::ForEachPair(
        x.dim(0) * anchors, cells,
        [=] DYGRAPH_FN(int64_t row, int64_t k) {
          const int64_t n = row / anchors, anchor = row % anchors;
          const T* overlaps = from + n * channels * cells;
          const T* at = overlaps + ((aware ? anchors : 0) + anchor * entries) * cells;
          const T high = static_cast<T>(size[n * 2]), wide = static_cast<T>(size[n * 2 + 1]);
          T sure = kernels::Sigmoid(at[4 * cells + k]);
          if (aware)
            sure = std::pow(sure, T(1) - factor) *
                   std::pow(kernels::Sigmoid(overlaps[anchor * cells + k]), factor);
          if (sure < threshold) return;
          const int64_t to = row * cells + k;
          if (box) {
            const T down = static_cast<T>(k / w), across = static_cast<T>(k % w);
            const T cx =
                (across + kernels::Sigmoid(at[k]) * scale - shift) * wide / static_cast<T>(w);
            const T cy =
                (down + kernels::Sigmoid(at[cells + k]) * scale - shift) * high / static_cast<T>(h);
            const T bw = std::exp(at[2 * cells + k]) * static_cast<T>(side[anchor * 2]) * wide /
                         (ratio * static_cast<T>(w));
            const T bh = std::exp(at[3 * cells + k]) * static_cast<T>(side[anchor * 2 + 1]) * high /
                         (ratio * static_cast<T>(h));
            T corners[4] = {cx - bw / 2, cy - bh / 2, cx + bw / 2, cy + bh / 2};
            if (clips) {
              corners[0] = corners[0] < T(0) ? T(0) : corners[0];
              corners[1] = corners[1] < T(0) ? T(0) : corners[1];
              corners[2] = corners[2] > wide - T(1) ? wide - T(1) : corners[2];
              corners[3] = corners[3] > high - T(1) ? high - T(1) : corners[3];
            }
            for (int i = 0; i < 4; ++i) box[to * 4 + i] = corners[i];
          }
          for (int64_t c = 0; score && c < classes; ++c)
            score[to * classes + c] = sure * kernels::Sigmoid(at[(5 + c) * cells + k]);
        },
        entries * 8);
  }
};

REGISTER_OPERATOR(yolo_box, DefineYoloBox);
REGISTER_KERNELS(yolo_box, YoloBoxKernel, float, double);

}  // namespace
}  // namespace dygraph::yolo

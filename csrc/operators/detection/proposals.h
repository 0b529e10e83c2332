// Proposals of a region proposal network (Ren et al., Faster R-CNN, 2015): the best anchors, moved
// by the deltas, cut at the image, without the tiny ones and those that overlap a better one.
#pragma once

#include <numeric>

#include "operators/arguments.h"
#include "operators/detection/boxes.h"
#include "operators/detection/images.h"
#include "platform/interrupt.h"

namespace dygraph::proposals {

constexpr int kScores = 0, kDeltas = 1, kImage = 2, kAnchors = 3, kVariances = 4;
constexpr int kRois = 0, kProbs = 1, kNum = 2, kLoD = 3;

struct Attrs {
  int32_t pre_nms_topN = 6000;
  int32_t post_nms_topN = 1000;
  double nms_thresh = 0.5;
  double min_size = 0.1;
  double eta = 1.0;
  bool pixel_offset = true;
};

inline OpDef& AddSlots(OpDef& op, const char* image, const char* image_help) {
  return op.Input(kScores, "Scores", "[N, A, H, W], of each anchor at each place")
      .Input(kDeltas, "BboxDeltas", "[N, 4 * A, H, W], how each anchor moves and grows")
      .Input(kImage, image, image_help)
      .Input(kAnchors, "Anchors", "[H, W, A, 4], corners")
      .Input(kVariances, "Variances", "[H, W, A, 4], what the deltas are multiplied by")
      .Output(kRois, "RpnRois", "[regions, 4] with the regions of each image as level of detail")
      .Output(kProbs, "RpnRoiProbs", "[regions, 1], their scores, with the same")
      .Output(kNum, "RpnRoisNum", "[N] int32, how many regions each image has", kExtra);
}

inline OpDef& AddAttrs(OpDef& op) {
  return op
      .Attr(&Attrs::pre_nms_topN, "pre_nms_topN",
            "anchors of an image that are looked at; 0 or less: all")
      .Attr(&Attrs::post_nms_topN, "post_nms_topN", "most regions of an image; 0 or less: all")
      .Attr(&Attrs::nms_thresh, "nms_thresh", "overlap above which the worse region is dropped")
      .Attr(&Attrs::min_size, "min_size",
            "least width and height, in pixels before the image was scaled; below 1 it is 1")
      .Attr(&Attrs::eta, "eta",
            "nms_thresh is multiplied by it after each region, while it is above 0.5");
}

inline void Describe(InferContext& ctx, int64_t image_numbers) {
  const Dims &s = ctx.dims(kScores), &d = ctx.dims(kDeltas), &image = ctx.dims(kImage);
  ENFORCE(s.rank() == 4, InvalidArgument, "Scores must be [N, A, H, W], got shape ", s);
  auto agree = [](int64_t a, int64_t b) { return a == b || !BothKnown(a, b); };
  ENFORCE(d.rank() == 4 && agree(d[0], s[0]) && agree(d[1], MulSizes(s[1], 4)) &&
              agree(d[2], s[2]) && agree(d[3], s[3]),
          InvalidArgument, "BboxDeltas must be [N, 4 * A, H, W] for Scores ", s, ", got shape ", d);
  ENFORCE(image.rank() == 2 && agree(image[0], s[0]) && agree(image[1], image_numbers),
          InvalidArgument, "Input(", ctx.call().op->inputs[kImage].name, ") must hold ",
          image_numbers, " numbers for each image of Scores ", s, ", got shape ", image);
  for (int slot : {kAnchors, kVariances}) {
    const Dims& a = ctx.dims(slot);
    const int64_t needed = MulSizes(MulSizes(MulSizes(s[1], s[2]), s[3]), 4);
    ENFORCE(
        a.rank() >= 2 && agree(a[a.rank() - 1], 4) && (a.HasUnknown() || agree(Numel(a), needed)),
        InvalidArgument, "Input(", ctx.call().op->inputs[slot].name,
        ") must be [H, W, A, 4] for Scores ", s, ", got shape ", a);
  }
  if (ctx.runtime()) return;
  ctx.SetOutput(kRois, {-1, 4});
  ctx.SetOutput(kProbs, {-1, 1});
  ctx.SetOutput(kNum, {s[0]}, DType::kInt32);
  if (ctx.call().op->outputs.size() > kLoD) ctx.SetOutput(kLoD, {s[0]}, DType::kInt64);
}

template <class T>
void CheckNumbers(const KernelContext& ctx, int slot) {
  const Tensor& t = ctx.In(slot);
  const T* v = t.data<T>();
  for (int64_t i = 0; i < t.numel(); ++i) {
    ENFORCE(std::isfinite(v[i]), InvalidArgument, "Input(", ctx.call().op->inputs[slot].name,
            ") must hold finite numbers, got ", v[i], " at position ", i);
  }
}

template <class T>
struct Found {
  std::vector<boxes::Box<T>> boxes;
  std::vector<T> scores;
};

// height and width of the image, and how much it was scaled.
template <class T>
Found<T> OfImage(const KernelContext& ctx, const Attrs& a, int64_t image, T height, T width,
                 T scale) {
  const Dims& s = ctx.In(kScores).dims();
  const int64_t anchors = s[1], places = s[2] * s[3], count = anchors * places;
  const T* scores = ctx.In(kScores).data<T>() + image * count;
  const T* deltas = ctx.In(kDeltas).data<T>() + image * count * 4;
  const T *anchor = ctx.In(kAnchors).data<T>(), *variance = ctx.In(kVariances).data<T>();
  std::vector<T> by_anchor(static_cast<size_t>(count));  // as Anchors are ordered
  for (int64_t k = 0; k < count; ++k) by_anchor[k] = scores[k % anchors * places + k / anchors];
  const std::vector<int64_t> best =
      boxes::Best(by_anchor.data(), count, 1, -std::numeric_limits<T>::infinity(),
                  a.pre_nms_topN > 0 ? int64_t{a.pre_nms_topN} : -1);
  const T unit = a.pixel_offset ? T(1) : T(0), most = std::log(T(1000) / T(16));
  const T least = std::max(static_cast<T>(a.min_size), T(1));
  Found<T> found;
  for (int64_t k : best) {
    const T* d = deltas + (k % anchors * 4) * places + k / anchors;
    const T* v = variance + k * 4;
    const boxes::CenterSize<T> move = {d[0] * v[0], d[places] * v[1], d[2 * places] * v[2],
                                       d[3 * places] * v[3]};
    const auto from = boxes::CenterSize<T>::Of(boxes::Box<T>::At(anchor + k * 4), unit);
    const boxes::Box<T> box =
        from.Moved(move, most).Corners(unit).Clipped(width - unit, height - unit);
    const T w = box.Width(unit), h = box.Height(unit);
    const bool large =
        (box.x1 - box.x0) / scale + unit >= least && (box.y1 - box.y0) / scale + unit >= least;
    const bool inside = !a.pixel_offset || (box.x0 + w / 2 <= width && box.y0 + h / 2 <= height);
    if (!large || !inside) continue;
    found.boxes.push_back(box);
    found.scores.push_back(by_anchor[k]);
  }
  if (found.boxes.empty()) return {{{0, 0, 0, 0}}, {T(0)}};
  if (!(a.nms_thresh > 0)) return found;
  std::vector<int64_t> order(found.boxes.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<T> corners(found.boxes.size() * 4);
  for (size_t k = 0; k < found.boxes.size(); ++k) found.boxes[k].Write(&corners[k * 4]);
  std::vector<int64_t> kept = boxes::SuppressBoxes(
      order, corners.data(), static_cast<T>(a.nms_thresh), static_cast<T>(a.eta), unit);
  if (a.post_nms_topN > 0 && kept.size() > static_cast<size_t>(a.post_nms_topN))
    kept.resize(static_cast<size_t>(a.post_nms_topN));
  Found<T> result;
  for (int64_t k : kept) {
    result.boxes.push_back(found.boxes[k]);
    result.scores.push_back(found.scores[k]);
  }
  return result;
}

// `has_scale`: the image's third number is how much it was scaled.
template <class T>
void Compute(KernelContext& ctx, const Attrs& a, bool has_scale) {
  for (int slot : {kScores, kDeltas, kImage, kAnchors, kVariances}) CheckNumbers<T>(ctx, slot);
  const int64_t count = ctx.In(kScores).dim(0), numbers = has_scale ? 3 : 2;
  const T* image = ctx.In(kImage).data<T>();
  std::vector<int64_t> ends{0};
  Found<T> all;
  for (int64_t i = 0; i < count; ++i) {
    CheckInterrupt();
    const T* info = image + i * numbers;
    ENFORCE(info[0] > 0 && info[1] > 0 && (!has_scale || info[2] > 0), InvalidArgument, "Input(",
            ctx.call().op->inputs[kImage].name, ") must hold numbers above 0, got those of image ",
            i, " with ", info[0], ", ", info[1]);
    const Found<T> found = OfImage<T>(ctx, a, i, info[0], info[1], has_scale ? info[2] : T(1));
    all.boxes.insert(all.boxes.end(), found.boxes.begin(), found.boxes.end());
    all.scores.insert(all.scores.end(), found.scores.begin(), found.scores.end());
    ends.push_back(static_cast<int64_t>(all.boxes.size()));
  }
  const int64_t rows = ends.back();
  const DType dtype = ctx.In(kScores).dtype();
  if (Tensor* t = ctx.OutOrNull(kRois)) {
    t->Allocate({rows, 4}, dtype, ctx.place());
    for (int64_t r = 0; r < rows; ++r) all.boxes[r].Write(t->mutable_data<T>() + r * 4);
    t->SetLoD(LoDLevels{ends});
  }
  if (Tensor* t = ctx.OutOrNull(kProbs)) {
    t->Allocate({rows, 1}, dtype, ctx.place());
    std::copy(all.scores.begin(), all.scores.end(), t->mutable_data<T>());
    t->SetLoD(LoDLevels{ends});
  }
  images::WriteCounts(ends, ctx.OutOrNull(kNum), ctx.place());
  Tensor* lod = ctx.call().op->outputs.size() > kLoD ? ctx.OutOrNull(kLoD) : nullptr;
  if (!lod) return;
  lod->Allocate({count}, DType::kInt64, ctx.place());
  std::copy(ends.begin() + 1, ends.end(), lod->mutable_data<int64_t>());
}

}  // namespace dygraph::proposals

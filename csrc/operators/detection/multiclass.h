// Suppression among the boxes of several classes, and the detections that are left: rows
// [class, score, box] in the order of images, with a level of detail.
#pragma once

#include "operators/detection/boxes.h"
#include "operators/detection/images.h"
#include "operators/detection/polygons.h"

namespace dygraph::detections {

constexpr int kBBoxes = 0, kScores = 1, kOut = 0, kIndex = 1;

struct Attrs {
  int32_t background_label = 0;
  double score_threshold = 0;
  int32_t nms_top_k = -1;
  double nms_threshold = 0.3, nms_eta = 1.0;
  int32_t keep_top_k = -1;
  bool normalized = true;
};

template <class A>
void DeclareLimits(OpDef& op) {
  op.Attr(&A::score_threshold, "score_threshold", "only boxes of a greater score count")
      .Attr(&A::nms_top_k, "nms_top_k", "at most so many boxes of a class are compared; -1: all",
            AtLeast(-1))
      .Attr(&A::keep_top_k, "keep_top_k", "at most so many are kept of an image; -1: all",
            AtLeast(-1));
}

template <class A>
void DeclareOthers(OpDef& op) {
  op.Attr(&A::background_label, "background_label", "the class that is left out; -1: none")
      .Attr(&A::normalized, "normalized",
            "False: sides are pixels, and a box from 2 to 4 is 3 wide");
}

// The numbers of a box: its sides, or the corners of a polygon.
inline void CheckBoxSize(const Dims& boxes) {
  const int64_t size = boxes[boxes.rank() - 1];
  ENFORCE(size < 0 || size == 4 || size == 8 || size == 16 || size == 24 || size == 32,
          InvalidArgument, "BBoxes must hold 4, 8, 16, 24 or 32 numbers for each box, got shape ",
          boxes);
}

// BBoxes [N, M, size] and Scores [N, C, M].
inline void CheckBatch(const Dims& boxes, const Dims& scores) {
  ENFORCE(boxes.rank() == 3 && scores.rank() == 3, InvalidArgument,
          "BBoxes and Scores must have shapes [N, M, size] and [N, C, M], got ", boxes, " and ",
          scores);
  CheckBoxSize(boxes);
  ENFORCE((boxes[0] == scores[0] || !BothKnown(boxes[0], scores[0])) &&
              (boxes[1] == scores[2] || !BothKnown(boxes[1], scores[2])),
          InvalidArgument, "Scores [N, C, M] must fit BBoxes [N, M, size] ", boxes, ", got ",
          scores);
}

template <class T>
struct Detection {
  int64_t label;
  int64_t box;  // its number in the image
  T score;
  const T* at;    // its numbers
  int64_t index;  // among the boxes of all images
};
template <class T>
using Found = std::vector<Detection<T>>;

// `size` numbers for each box, one every `stride`.
template <class T>
std::vector<int64_t> Suppress(const std::vector<int64_t>& order, const T* boxes, int64_t size,
                              int64_t stride, T threshold, T eta, T unit) {
  if (size == 4 && stride == 4) return boxes::SuppressBoxes(order, boxes, threshold, eta, unit);
  return boxes::Suppress(order, threshold, eta, [&](int64_t i, int64_t k) {
    return polygons::Overlap(boxes + i * stride, boxes + k * stride, size, unit);
  });
}

// The best `most` of an image, -1: all, by score.
template <class T>
void BestFirst(int32_t most, Found<T>* found) {
  std::stable_sort(found->begin(), found->end(),
                   [](const auto& x, const auto& y) { return x.score > y.score; });
  if (most >= 0 && static_cast<int64_t>(found->size()) > most) found->resize(most);
}

// The same by class. The order of equals is that of their classes and then that in which they were
// found.
template <class T>
void KeepBest(int32_t most, Found<T>* found) {
  if (most < 0 || static_cast<int64_t>(found->size()) <= most) return;
  BestFirst(most, found);
  std::stable_sort(found->begin(), found->end(),
                   [](const auto& x, const auto& y) { return x.label < y.label; });
}

template <class T>
std::vector<int64_t> Offsets(const std::vector<Found<T>>& images) {
  std::vector<int64_t> offsets{0};
  for (const Found<T>& found : images)
    offsets.push_back(offsets.back() + static_cast<int64_t>(found.size()));
  return offsets;
}

// Writes Out; with `or_none`, [[-1]] where nothing was found in any image.
template <class T>
void Write(KernelContext& ctx, const std::vector<Found<T>>& images, int64_t size, bool or_none) {
  Tensor* out = ctx.OutOrNull(kOut);
  if (!out) return;
  const std::vector<int64_t> offsets = Offsets(images);
  const DType dtype = DTypeOf<T>::value;
  if (or_none && offsets.back() == 0) {
    out->Allocate({1, 1}, dtype, ctx.place());
    *out->mutable_data<T>() = T(-1);
    return out->SetLoD(LoDLevels{{0, 1}});
  }
  out->Allocate({offsets.back(), size + 2}, dtype, ctx.place());
  T* to = out->mutable_data<T>();
  for (const Found<T>& found : images) {
    for (const Detection<T>& d : found) {
      *to++ = static_cast<T>(d.label);
      *to++ = d.score;
      to = std::copy_n(d.at, size, to);
    }
  }
  out->SetLoD(LoDLevels{offsets});
}

// The numbers of the boxes, int32 [rows, 1] with the level of detail of Out.
template <class T>
void WriteIndex(KernelContext& ctx, const std::vector<Found<T>>& images) {
  Tensor* out = ctx.OutOrNull(kIndex);
  if (!out) return;
  const std::vector<int64_t> offsets = Offsets(images);
  out->Allocate({offsets.back(), 1}, DType::kInt32, ctx.place());
  int32_t* to = out->mutable_data<int32_t>();
  for (const Found<T>& found : images) {
    for (const Detection<T>& d : found) *to++ = static_cast<int32_t>(d.index);
  }
  out->SetLoD(LoDLevels{offsets});
}

}  // namespace dygraph::detections

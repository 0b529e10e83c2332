// The head of a network as yolov3_loss reads it: predicted and true boxes.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/math.h"
#include "operators/arguments.h"
#include "operators/class_labels.h"

namespace dygraph::yolo {

constexpr int kX = 0, kGTBox = 1, kGTLabel = 2, kGTScore = 3;
constexpr int kLoss = 0, kObjectness = 1, kMatch = 2;

struct Yolov3LossAttrs {
  std::vector<int32_t> anchors, anchor_mask;
  int32_t class_num = 1;
  double ignore_thresh = 0.7;
  int32_t downsample_ratio = 32;
  bool use_label_smooth = true;
  double scale_x_y = 1.0;
};

template <class T>
struct MiddleBox {
  T x, y, w, h;
};

// How far two intervals with these middles and lengths overlap.
template <class T>
DYGRAPH_INLINE T SharedLength(T c1, T s1, T c2, T s2) {
  const T end = c1 + s1 / 2, other_end = c2 + s2 / 2;
  const T begin = c1 - s1 / 2, other_begin = c2 - s2 / 2;
  return (other_end < end ? other_end : end) - (begin < other_begin ? other_begin : begin);
}

template <class T>
DYGRAPH_INLINE T OverlapOf(const MiddleBox<T>& a, const MiddleBox<T>& b) {
  const T w = SharedLength(a.x, a.w, b.x, b.w), h = SharedLength(a.y, a.h, b.y, b.h);
  const T both = w < T(0) || h < T(0) ? T(0) : w * h;
  return both / (a.w * a.h + b.w * b.h - both);
}

// The inputs of a call, for loops; `anchors` and `mask` are the attributes.
template <class T>
struct Head {
  int64_t n, size, cells, boxes, count, masks, classes, entries;  // count: of anchors
  T scale_x_y, input_size, ignore_thresh, label_on = 1, label_off = 0;
  const T *x, *box, *score;  // score: nullptr for ones
  const int32_t *anchors, *mask;
  labels::ClassLabels label;

  Head(const KernelContext& ctx, const int32_t* anchors_in, const int32_t* mask_in)
      : n(ctx.In(kX).dim(0)),
        size(ctx.In(kX).dim(2)),
        cells(size * size),
        boxes(ctx.In(kGTBox).dim(1)),
        x(ctx.In(kX).data<T>()),
        box(ctx.In(kGTBox).data<T>()),
        score(ctx.HasInput(kGTScore) ? ctx.In(kGTScore).data<T>() : nullptr),
        anchors(anchors_in),
        mask(mask_in),
        label(ctx.In(kGTLabel)) {
    const auto& a = ctx.attrs<Yolov3LossAttrs>();
    count = static_cast<int64_t>(a.anchors.size()) / 2;
    masks = static_cast<int64_t>(a.anchor_mask.size());
    classes = a.class_num;
    entries = 5 + classes;
    scale_x_y = static_cast<T>(a.scale_x_y);
    ignore_thresh = static_cast<T>(a.ignore_thresh);
    input_size = static_cast<T>(a.downsample_ratio) * static_cast<T>(size);
    if (a.use_label_smooth) {
      label_off = std::min(T(1) / static_cast<T>(a.class_num), T(1) / T(40));
      label_on = T(1) - label_off;
    }
  }
  DYGRAPH_INLINE bool IsBox(int64_t t) const {
    return !(box[t * 4 + 2] < T(1e-6) || box[t * 4 + 3] < T(1e-6));
  }
  // A box whose middle lies in the image, so that it has a cell.
  DYGRAPH_INLINE bool IsInside(int64_t t) const {
    const T* b = box + t * 4;
    return IsBox(t) && b[0] >= T(0) && b[0] < T(1) && b[1] >= T(0) && b[1] < T(1);
  }
  DYGRAPH_INLINE MiddleBox<T> Truth(int64_t t) const {
    return {box[t * 4], box[t * 4 + 1], box[t * 4 + 2], box[t * 4 + 3]};
  }
  DYGRAPH_INLINE T Weight(int64_t t) const { return score ? score[t] : T(1); }
  DYGRAPH_INLINE int64_t CellOf(int64_t t) const {
    const auto side = static_cast<T>(size);
    const auto row = static_cast<int64_t>(box[t * 4 + 1] * side);
    const auto column = static_cast<int64_t>(box[t * 4] * side);
    return (row < size ? row : size - 1) * size + (column < size ? column : size - 1);
  }
  // Entry e of mask m in cell k of image i.
  DYGRAPH_INLINE int64_t At(int64_t i, int64_t m, int64_t e, int64_t k) const {
    return ((i * masks + m) * entries + e) * cells + k;
  }
  DYGRAPH_INLINE MiddleBox<T> Predicted(int64_t i, int64_t m, int64_t k) const {
    const T shift = (scale_x_y - T(1)) / T(2), side = static_cast<T>(size),
            *at = x + At(i, m, 0, k);
    const int32_t* anchor = anchors + mask[m] * 2;
    return {(static_cast<T>(k % size) + kernels::Sigmoid(at[0]) * scale_x_y - shift) / side,
            (static_cast<T>(k / size) + kernels::Sigmoid(at[cells]) * scale_x_y - shift) / side,
            std::exp(at[2 * cells]) * static_cast<T>(anchor[0]) / input_size,
            std::exp(at[3 * cells]) * static_cast<T>(anchor[1]) / input_size};
  }
  // -1 where a true box overlaps what cell k of mask m of image i predicts, else 0.
  DYGRAPH_INLINE T Objectness(int64_t i, int64_t m, int64_t k) const {
    const MiddleBox<T> guess = Predicted(i, m, k);
    T best = 0;
    for (int64_t t = i * boxes; t < (i + 1) * boxes; ++t) {
      if (!IsBox(t)) continue;
      const T overlap = OverlapOf(guess, Truth(t));
      best = best < overlap ? overlap : best;
    }
    return best > ignore_thresh ? T(-1) : T(0);
  }
  // The position in the mask of the anchor most like a true box, -1: none.
  DYGRAPH_INLINE int32_t MatchOf(int64_t t) const {
    const MiddleBox<T> truth = {0, 0, box[t * 4 + 2], box[t * 4 + 3]};
    T best = 0;
    int64_t nearest = 0;
    for (int64_t k = 0; k < count; ++k) {
      const MiddleBox<T> anchor = {0, 0, static_cast<T>(anchors[k * 2]) / input_size,
                                   static_cast<T>(anchors[k * 2 + 1]) / input_size};
      const T overlap = OverlapOf(anchor, truth);
      if (overlap > best) best = overlap, nearest = k;
    }
    for (int64_t m = 0; m < masks; ++m) {
      if (mask[m] == nearest) return static_cast<int32_t>(m);
    }
    return -1;
  }
  // Fills in the matches and the objectness of image i, of all its true boxes.
  DYGRAPH_INLINE void MatchBoxes(int64_t i, T* objectness, int32_t* match) const {
    for (int64_t t = i * boxes; t < (i + 1) * boxes; ++t) {
      match[t] = IsInside(t) ? MatchOf(t) : -1;
      if (match[t] >= 0) objectness[(i * masks + match[t]) * cells + CellOf(t)] = Weight(t);
    }
  }
  // The terms of a true box t of image i that belongs to position m of the mask:
  // entropy(position in X, target, weight) of cross entropies and distance(...) of absolute
  // differences.
  template <class Entropy, class Distance>
  DYGRAPH_INLINE void BoxTerms(int64_t i, int64_t t, int64_t m, const Entropy& entropy,
                               const Distance& distance) const {
    const int64_t k = CellOf(t), at = At(i, m, 0, k);
    const MiddleBox<T> b = Truth(t);
    const T side = static_cast<T>(size), weight = (T(2) - b.w * b.h) * Weight(t);
    const int32_t* anchor = anchors + mask[m] * 2;
    entropy(at, b.x * side - static_cast<T>(k % size), weight);
    entropy(at + cells, b.y * side - static_cast<T>(k / size), weight);
    distance(at + 2 * cells, std::log(b.w * input_size / static_cast<T>(anchor[0])), weight);
    distance(at + 3 * cells, std::log(b.h * input_size / static_cast<T>(anchor[1])), weight);
    const int64_t right = label[t];
    for (int64_t c = 0; c < classes; ++c)
      entropy(at + (5 + c) * cells, c == right ? label_on : label_off, Weight(t));
  }
  // The term of the objectness of cell k of mask m.
  template <class Entropy>
  DYGRAPH_INLINE void CellTerm(int64_t i, int64_t m, int64_t k, T object,
                               const Entropy& entropy) const {
    if (object > T(1e-5)) {
      entropy(At(i, m, 4, k), T(1), object);
    } else if (object > T(-0.5)) {
      entropy(At(i, m, 4, k), T(0), T(1));
    }
  }
};

// The terms of the loss and their derivatives in v.
template <class T>
DYGRAPH_INLINE T Entropy(T v, T target) {
  return (v > T(0) ? v : T(0)) - v * target + std::log(T(1) + std::exp(-std::abs(v)));
}
template <class T>
DYGRAPH_INLINE T SignOf(T d) {
  return static_cast<T>((d > T(0)) - (d < T(0)));
}

// The head of a call, checked on the host.
template <class T>
Head<T> HeadOf(const KernelContext& ctx) {
  const auto& a = ctx.attrs<Yolov3LossAttrs>();
  Head<T> q(ctx, a.anchors.data(), a.anchor_mask.data());
  for (int64_t t = 0; t < q.n * q.boxes; ++t) {
    const T* b = q.box + t * 4;
    for (int i = 0; i < 4; ++i) {
      ENFORCE(std::isfinite(b[i]), InvalidArgument, "GTBox must hold finite numbers, got ", b[i],
              " in box ", t % q.boxes, " of image ", t / q.boxes);
    }
    if (!q.IsBox(t)) continue;
    ENFORCE(b[0] >= T(0) && b[0] < T(1) && b[1] >= T(0) && b[1] < T(1), OutOfRange,
            "GTBox must have its middles in [0, 1), parts of the image, got ", b[0], ", ", b[1],
            " in box ", t % q.boxes, " of image ", t / q.boxes);
    ENFORCE(q.label[t] >= 0 && q.label[t] < a.class_num, OutOfRange,
            "GTLabel must be classes in [0, ", a.class_num, "), got ", q.label[t]);
  }
  return q;
}

// The terms of the loss of image i, one after another.
template <class T, class E, class D>
void ForTerms(const Head<T>& q, int64_t i, const T* objectness, const int32_t* match,
              const E& entropy, const D& distance) {
  for (int64_t t = i * q.boxes; t < (i + 1) * q.boxes; ++t) {
    const int64_t m = match[t];
    if (m < 0 || !q.IsInside(t)) continue;
    ENFORCE(m < q.masks, OutOfRange, "GTMatchMask must be below ", q.masks, ", got ", m);
    q.BoxTerms(i, t, m, entropy, distance);
  }
  for (int64_t m = 0; m < q.masks; ++m) {
    for (int64_t k = 0; k < q.cells; ++k)
      q.CellTerm(i, m, k, objectness[(i * q.masks + m) * q.cells + k], entropy);
  }
}

}  // namespace dygraph::yolo

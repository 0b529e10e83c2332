// Which anchors or regions a detector learns from, and what: the labels of rpn_target_assign,
// retinanet_target_assign and generate_proposal_labels. Corners are those of pixels.
#pragma once

#include <cmath>
#include <numeric>

#include "kernels/philox.h"
#include "operators/arguments.h"
#include "operators/detection/boxes.h"
#include "operators/detection/images.h"
#include "platform/interrupt.h"

namespace dygraph::targets {

// Numbers in [0, 1), one after another.
class Draws {
 public:
  explicit Draws(const KernelContext& ctx) : philox_(ctx.random_seed(), ctx.random_stream()) {}
  double Next() {
    if (at_ % kBlock == 0) philox_.Uniform(block_, kBlock, at_);
    return block_[at_++ % kBlock];
  }

 private:
  static constexpr int64_t kBlock = 256;
  kernels::Philox philox_;
  int64_t at_ = 0;
  double block_[kBlock];
};

// Keeps `most` of a list, and what goes with it: the first ones, or with `draws` any, each as
// likely as the other (reservoir sampling).
inline void Sample(int64_t most, Draws* draws, std::vector<int64_t>* list,
                   std::vector<int64_t>* with = nullptr) {
  const auto size = static_cast<int64_t>(list->size());
  most = std::max<int64_t>(most, 0);
  if (size <= most) return;
  for (int64_t i = most; draws && i < size; ++i) {
    const auto at = static_cast<int64_t>(std::floor(draws->Next() * static_cast<double>(i + 1)));
    if (at >= most) continue;
    std::swap((*list)[at], (*list)[i]);
    if (with) std::swap((*with)[at], (*with)[i]);
  }
  list->resize(static_cast<size_t>(most));
  if (with) with->resize(static_cast<size_t>(most));
}

// The rows of each image; InvalidArgument unless there are `images` of them.
inline const std::vector<int64_t>& RowsByImage(const KernelContext& ctx, int slot, int64_t images) {
  return images::OffsetsFor(ctx.In(slot), ctx.call().op->inputs[slot].name.c_str(), images);
}

template <class T>
void CheckBoxes(const KernelContext& ctx, int slot) {
  const Tensor& t = ctx.In(slot);
  const T* v = t.data<T>();
  for (int64_t i = 0; i < t.numel(); ++i) {
    ENFORCE(std::isfinite(v[i]), InvalidArgument, ctx.call().op->inputs[slot].name,
            " must hold finite numbers, got ", v[i], " in row ", i / 4);
  }
}

// The slots that both kinds of labels take: boxes [rows, 4] and integers [rows, 1].
inline void CheckTruth(InferContext& ctx, int boxes, std::initializer_list<int> integers, int info,
                       int64_t images) {
  const std::vector<SlotInfo>& slots = ctx.call().op->inputs;
  const Dims& b = ctx.dims(boxes);
  boxes::CheckBoxes(b, slots[boxes].name.c_str());
  for (int slot : integers) {
    const Dims& d = ctx.dims(slot);
    ENFORCE(d.rank() >= 1 && (d[0] == b[0] || !BothKnown(d[0], b[0])) &&
                (d.HasUnknown() || Numel(d) == d[0]),
            InvalidArgument, slots[slot].name, " must be [rows, 1] for ", slots[boxes].name, " ", b,
            ", got shape ", d);
  }
  const Dims& i = ctx.dims(info);
  ENFORCE(i.rank() == 2 && (i[1] == 3 || i[1] < 0) && (images < 0 || i[0] < 0 || i[0] == images),
          InvalidArgument, slots[info].name,
          " must hold a height, a width and a scale for each image, got shape ", i);
}

inline void CheckType(InferContext& ctx, int slot, int like) {
  const std::vector<SlotInfo>& slots = ctx.call().op->inputs;
  ENFORCE(ctx.dtype(slot) == ctx.dtype(like), Type, slots[slot].name, " must be of the type of ",
          slots[like].name, ", ", ctx.dtype(like), ", got ", ctx.dtype(slot),
          ". Convert with astype()");
}

// Intersection over union of every row with every column.
template <class T>
std::vector<T> Overlaps(const std::vector<boxes::Box<T>>& rows,
                        const std::vector<boxes::Box<T>>& columns) {
  std::vector<T> table(rows.size() * columns.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t j = 0; j < columns.size(); ++j)
      table[i * columns.size() + j] = boxes::Overlap(rows[i], columns[j], T(1));
  }
  return table;
}

// The anchors of an image that are learnt from, by positions in the list of anchors.
struct Assigned {
  // Anchors with a target box, its position among the true ones, and whether it counts.
  std::vector<int64_t> located, truth;
  std::vector<bool> counts;
  std::vector<int64_t> objects, background;  // anchors with a label
};

// As many of `all` as `share` says, rounded down in floats as Fluid does: 0.7 of 10 are 7.
inline int64_t Part(double share, int64_t all) {
  return static_cast<int64_t>(static_cast<float>(share) * static_cast<float>(all));
}

struct Rule {
  double positive, negative;
  int64_t batch = -1;  // labels of an image; -1: all
  double share = 0;    // of objects among them
};

// An anchor is an object where it overlaps a true box by `positive`, or by as much as any anchor
// does; it is background where it overlaps all by less than `negative`.
template <class T>
Assigned Assign(const std::vector<boxes::Box<T>>& anchors, const std::vector<boxes::Box<T>>& truth,
                const Rule& rule, Draws* draws) {
  const std::vector<T> table = Overlaps(anchors, truth);
  const size_t n = anchors.size(), m = truth.size();
  std::vector<T> best(n, T(-1)), best_of_truth(m, T(-1));
  std::vector<int64_t> nearest(n, 0);
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < m; ++j) {
      const T v = table[i * m + j];
      if (v > best[i]) best[i] = v, nearest[i] = static_cast<int64_t>(j);
      best_of_truth[j] = std::max(best_of_truth[j], v);
    }
  }
  std::vector<int64_t> objects, background;
  for (size_t i = 0; i < n; ++i) {
    bool is = m > 0 && best[i] >= static_cast<T>(rule.positive);
    for (size_t j = 0; j < m && !is; ++j)
      is = std::abs(table[i * m + j] - best_of_truth[j]) < T(1e-5);
    if (is) objects.push_back(static_cast<int64_t>(i));
    if (best[i] < static_cast<T>(rule.negative)) background.push_back(static_cast<int64_t>(i));
  }
  if (rule.batch >= 0) Sample(Part(rule.share, rule.batch), draws, &objects);
  const auto found = static_cast<int64_t>(objects.size());
  if (rule.batch >= 0) Sample(rule.batch - found, draws, &background);
  // An object that is drawn as background too is background. As in Fluid, the first object stands
  // in its place among the target boxes, and does not count.
  Assigned a;
  std::vector<int> label(n, -1);
  for (int64_t i : objects) label[i] = 1;
  for (int64_t i : background) {
    if (label[i] == 1) {
      a.located.push_back(objects[0]);
      a.counts.push_back(false);
    }
    label[i] = 0;
  }
  for (size_t i = 0; i < n; ++i) {
    if (label[i] == 0) a.background.push_back(static_cast<int64_t>(i));
    if (label[i] != 1) continue;
    a.objects.push_back(static_cast<int64_t>(i));
    a.located.push_back(static_cast<int64_t>(i));
    a.counts.push_back(true);
  }
  for (int64_t i : a.located) a.truth.push_back(nearest[i]);
  return a;
}

// What moves `from` to `to`, divided by the weights where there are some.
template <class T>
void WriteDelta(const boxes::Box<T>& from, const boxes::Box<T>& to, const float* weights, T* out) {
  const auto d = boxes::CenterSize<T>::Of(from, T(1)).To(boxes::CenterSize<T>::Of(to, T(1)));
  const T numbers[4] = {d.x, d.y, d.w, d.h};
  for (int k = 0; k < 4; ++k)
    out[k] = weights ? numbers[k] / static_cast<T>(weights[k]) : numbers[k];
}

// Results of one kind of number, filled row by row.
template <class V>
void Give(KernelContext& ctx, int slot, const std::vector<V>& values, int64_t width, DType dtype,
          const LoDLevels& lod = {}, bool flat = false) {
  Tensor* t = ctx.OutOrNull(slot);
  if (!t) return;
  const auto rows = static_cast<int64_t>(values.size()) / width;
  t->Allocate(flat ? Dims{rows} : Dims{rows, width}, dtype, ctx.place());
  std::copy(values.begin(), values.end(), t->mutable_data<V>());
  if (!lod.empty()) t->SetLoD(lod);
}

}  // namespace dygraph::targets

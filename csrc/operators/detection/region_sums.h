// Pooling of regions that is a weighted sum along each axis by itself:
//
//   Out[r, c, i, j] = sum over y and x of rows_i(y) columns_j(x) X[image of r, plane, y, x].
//
// An operator says how it cuts a region; roi_align, prroi_pool and psroi_pool are such.
#pragma once

#include <algorithm>

#include "kernels/parallel.h"
#include "operators/detection/rois.h"

namespace dygraph::rois {

// The weights along one axis, bin after bin, region after region.
template <class T>
struct Axis {
  std::vector<int64_t> begin{0}, at;
  std::vector<T> weight;
  void Add(int64_t pixel, T w) {
    const auto first = static_cast<size_t>(begin.back());
    for (size_t k = at.size(); k > first && k + 2 > at.size(); --k) {
      if (at[k - 1] != pixel) continue;
      weight[k - 1] += w;
      return;
    }
    at.push_back(pixel);
    weight.push_back(w);
  }
  void EndBin() { begin.push_back(static_cast<int64_t>(at.size())); }
};

template <class T>
struct Cuts {
  Axis<T> rows, columns;
  std::vector<int64_t> images;             // of each region
  int64_t height, width, planes;           // of X
  int64_t bins_high, bins_wide, channels;  // of Out
  bool by_position = false;                // plane (c, i, j) of X for channel c, else plane c

  int64_t regions() const { return static_cast<int64_t>(images.size()); }
  int64_t cost() const {  // of a channel of a region
    const int64_t bins = std::max<int64_t>(bins_high * bins_wide, 1);
    const int64_t r = std::max<int64_t>(regions(), 1);
    auto high = static_cast<int64_t>(rows.at.size()) / r + 1;
    auto wide = static_cast<int64_t>(columns.at.size()) / r + 1;
    return 2 * high * wide + 4 * bins;
  }
  int64_t Plane(int64_t r, int64_t c, int64_t i, int64_t j) const {
    const int64_t plane = by_position ? (c * bins_high + i) * bins_wide + j : c;
    return (images[r] * planes + plane) * height * width;
  }

  void Pool(const T* x, T* out) const {
    kernels::ParallelRows(regions() * channels, cost(), [=](int64_t first, int64_t last) {
      for (int64_t k = first; k < last; ++k) {
        const int64_t r = k / channels, c = k % channels;
        T* to = out + k * bins_high * bins_wide;
        for (int64_t i = 0; i < bins_high; ++i) {
          for (int64_t j = 0; j < bins_wide; ++j) *to++ = Sum(x + Plane(r, c, i, j), r, i, j);
        }
      }
    });
  }
  // The transpose of Pool().
  void Spread(const T* top, T* dx) const {
    const int64_t bins = bins_high * bins_wide;
    kernels::ParallelRows(channels, regions() * cost(), [=](int64_t first, int64_t last) {
      for (int64_t c = first; c < last; ++c) {
        for (int64_t r = 0; r < regions(); ++r) {
          const T* from = top + (r * channels + c) * bins;
          for (int64_t i = 0; i < bins_high; ++i) {
            for (int64_t j = 0; j < bins_wide; ++j) Give(dx + Plane(r, c, i, j), r, i, j, *from++);
          }
        }
      }
    });
  }

 private:
  T Sum(const T* plane, int64_t r, int64_t i, int64_t j) const {
    const int64_t *y = &rows.begin[r * bins_high + i], *x = &columns.begin[r * bins_wide + j];
    T sum = 0;
    for (int64_t a = y[0]; a < y[1]; ++a) {
      const T* line = plane + rows.at[a] * width;
      T along = 0;
      for (int64_t b = x[0]; b < x[1]; ++b) along += columns.weight[b] * line[columns.at[b]];
      sum += rows.weight[a] * along;
    }
    return sum;
  }
  void Give(T* plane, int64_t r, int64_t i, int64_t j, T g) const {
    const int64_t *y = &rows.begin[r * bins_high + i], *x = &columns.begin[r * bins_wide + j];
    for (int64_t a = y[0]; a < y[1]; ++a) {
      T *line = plane + rows.at[a] * width, share = rows.weight[a] * g;
      for (int64_t b = x[0]; b < x[1]; ++b) line[columns.at[b]] += columns.weight[b] * share;
    }
  }
};

constexpr int kX = 0, kROIs = 1, kOut = 0;

// P: what an operator says of its cuts:
//   struct Attrs { double spatial_scale; int32_t pooled_height, pooled_width; ... };
//   static constexpr const char* kType;
//   static constexpr int kCounts, kOffsets;  // the slots that say which image; -1: none
//   static constexpr int kTop;               // the slot of Out@GRAD
//   static int64_t Channels(const Attrs&, int64_t planes);  // of Out; InvalidArgument
//   static constexpr bool kByPosition;
//   template <class T> static void Cut(const Attrs&, const T* box, Cuts<T>*);
template <class P>
void InferShape(InferContext& ctx) {
  const auto& a = ctx.attrs<typename P::Attrs>();
  CheckShapes(ctx.dims(kX), ctx.dims(kROIs));
  ctx.SetOutput(
      kOut, {ctx.dims(kROIs)[0], P::Channels(a, ctx.dims(kX)[1]), a.pooled_height, a.pooled_width});
}

template <class P, class T>
Cuts<T> CutsOf(const KernelContext& ctx) {
  const auto& a = ctx.attrs<typename P::Attrs>();
  const Dims& x = ctx.call().in.at(kX, 0)->tensor().dims();
  const Tensor& rois = ctx.In(kROIs);
  Cuts<T> cuts;
  cuts.images = Images(ctx, kROIs, P::kCounts, P::kOffsets, x[0]);
  cuts.planes = x[1], cuts.height = x[2], cuts.width = x[3];
  cuts.bins_high = a.pooled_height, cuts.bins_wide = a.pooled_width;
  cuts.channels = P::Channels(a, x[1]);
  cuts.by_position = P::kByPosition;
  CheckBoxes<T>(rois, a.spatial_scale);
  const T* box = rois.data<T>();
  for (int64_t r = 0; r < rois.dim(0); ++r, box += 4) P::Cut(a, box, &cuts);
  return cuts;
}

template <class P, class T>
struct PoolKernel {
  static void Compute(KernelContext& ctx) {
    CutsOf<P, T>(ctx).Pool(ctx.In(kX).template data<T>(), ctx.Out(kOut).template mutable_data<T>());
  }
};

template <class P, class T>
struct SpreadKernel {
  static void Compute(KernelContext& ctx) {
    Tensor& dx = ctx.Out(0);
    std::fill_n(dx.template mutable_data<T>(), dx.numel(), T(0));
    CutsOf<P, T>(ctx).Spread(ctx.In(P::kTop).template data<T>(), dx.template mutable_data<T>());
  }
};

// The gradient of an operator that is linear in X and has no other gradient: its own gradient is
// the operator again.
template <class P>
void DefineSpread(OpDef& op) {
  const std::string text = std::string("X@GRAD: each Out@GRAD goes to the pixels that ") +
                           P::kType + " made it of, by their weights.";
  op.Comment(text.c_str())
      .Input(kX, "X", "as of the forward call", kShapeOnly)
      .Input(kROIs, "ROIs", "as of the forward call");
  if (P::kCounts >= 0) op.Input(P::kCounts, "RoisNum", "as of the forward call", kDispensable);
  if (P::kOffsets >= 0) op.Input(P::kOffsets, "RoisLod", "as of the forward call", kDispensable);
  op.Input(P::kTop, "Out@GRAD", "shape of Out")
      .Output(0, "X@GRAD", "shape of X")
      .AttrsOf(P::kType)
      .MixedDTypes()
      .KernelDTypeOf(P::kTop)
      .Shape([](InferContext& ctx) {
        CheckShapes(ctx.dims(kX), ctx.dims(kROIs));
        ctx.SetOutput(0, ctx.dims(kX), ctx.dtype(P::kTop));
      })
      .Grad([](GradBuilder& g) {
        std::vector<RecipeSlot> in{g.OutputGrad(0)};
        for (int slot = kROIs; slot < P::kTop; ++slot) in.push_back(g.Inputs(slot));
        g.CallLists(P::kType, std::move(in), {g.InputGrad(P::kTop)}).SameAttrs();
      });
}

}  // namespace dygraph::rois

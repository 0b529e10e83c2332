// Pooling of regions that is a weighted sum along each axis by itself:
//
//   Out[r, c, i, j] = sum over y and x of rows_i(y) columns_j(x) X[image of r, plane, y, x].
//
// An operator says how it cuts a region; roi_align, prroi_pool and psroi_pool are such.
#pragma once

#include "operators/detection/region_loops.h"
#include "operators/detection/rois.h"

namespace dygraph::rois {

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
    const Cuts<T> cuts = CutsOf<P, T>(ctx);
    RegionLoops<T>(cuts).Pool(ctx.In(kX).template data<T>(),
                              ctx.Out(kOut).template mutable_data<T>());
  }
};

template <class P, class T>
struct SpreadKernel {
  static void Compute(KernelContext& ctx) {
    Tensor& dx = ctx.Out(0);
    const Cuts<T> cuts = CutsOf<P, T>(ctx);
    RegionLoops<T>(cuts).Spread(ctx.In(P::kTop).template data<T>(), dx.template mutable_data<T>(),
                                dx.numel());
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
      .Input(kROIs, "ROIs", "as of the forward call", kOnHost);
  if (P::kCounts >= 0)
    op.Input(P::kCounts, "RoisNum", "as of the forward call", kDispensable | kOnHost);
  if (P::kOffsets >= 0)
    op.Input(P::kOffsets, "RoisLod", "as of the forward call", kDispensable | kOnHost);
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

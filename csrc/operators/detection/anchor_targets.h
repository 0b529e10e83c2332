// What rpn_target_assign and retinanet_target_assign share: labels and target boxes of anchors.
#pragma once

#include "operators/detection/targets.h"

namespace dygraph::targets {

constexpr int kAnchor = 0, kGtBoxes = 1, kGtLabels = 2;
constexpr int kLocationIndex = 0, kScoreIndex = 1, kTargetBBox = 2, kTargetLabel = 3,
              kInsideWeight = 4, kForegroundNumber = 5;

// P: what an operator says of itself.
//   struct Attrs;
//   static constexpr bool kLabels;  // objects have classes
//   static constexpr int kCrowd, kInfo;  // slots
//   static Rule RuleOf(const Attrs&);
//   static double Straddle(const Attrs&);
//   static bool Random(const Attrs&);
template <class P>
void AddInputs(OpDef& op) {
  op.Input(kAnchor, "Anchor", "[anchors, 4], corners in the scaled image")
      .Input(kGtBoxes, "GtBoxes",
             "[rows, 4], the true boxes before scaling, with those of each image as level of "
             "detail");
  if (P::kLabels) op.Input(kGtLabels, "GtLabels", "[rows, 1] int32 classes, with the same");
  op.Input(P::kCrowd, "IsCrowd", "[rows, 1] int32, 1 for boxes to leave out, with the same")
      .Input(P::kInfo, "ImInfo", "[N, 3]: height and width of each scaled image, and its scale")
      .MixedDTypes()
      .KernelDTypeOf(kAnchor)
      .VarType([](InferContext& ctx) {
        boxes::CheckBoxes(ctx.dims(kAnchor), "Anchor");
        if (P::kLabels) {
          CheckTruth(ctx, kGtBoxes, {kGtLabels, P::kCrowd}, P::kInfo, -1);
        } else {
          CheckTruth(ctx, kGtBoxes, {P::kCrowd}, P::kInfo, -1);
        }
        CheckType(ctx, kGtBoxes, kAnchor);
        CheckType(ctx, P::kInfo, kAnchor);
        if (ctx.runtime()) return;
        ctx.SetOutput(kLocationIndex, {-1}, DType::kInt32);
        ctx.SetOutput(kScoreIndex, {-1}, DType::kInt32);
        ctx.SetOutput(kTargetBBox, {-1, 4}, ctx.dtype(kAnchor));
        ctx.SetOutput(kTargetLabel, {-1, 1}, DType::kInt32);
        ctx.SetOutput(kInsideWeight, {-1, 4}, ctx.dtype(kAnchor));
        if (P::kLabels) ctx.SetOutput(kForegroundNumber, {ctx.dims(P::kInfo)[0], 1}, DType::kInt32);
      })
      .KernelAllocates()
      .NoGrad();
}

inline OpDef& AddOutputs(OpDef& op) {
  return op.Output(kLocationIndex, "LocationIndex", "[located] int32, anchors with a target box")
      .Output(kScoreIndex, "ScoreIndex", "[labels] int32, anchors with a label")
      .Output(
          kTargetBBox, "TargetBBox",
          "[located, 4]: how the middle moves, in parts of the anchor, and the logarithm of how "
          "it grows")
      .Output(kTargetLabel, "TargetLabel", "[labels, 1] int32")
      .Output(kInsideWeight, "BBoxInsideWeight", "[located, 4], 1 where the box counts, else 0");
}

template <class P, class T>
void AssignAnchors(KernelContext& ctx) {
  const auto& a = ctx.attrs<typename P::Attrs>();
  const Tensor& anchor = ctx.In(kAnchor);
  const int64_t count = anchor.dim(0), images = ctx.In(P::kInfo).dim(0);
  const std::vector<int64_t>& rows = RowsByImage(ctx, kGtBoxes, images);
  const std::vector<int64_t> crowd = Integers(ctx.In(P::kCrowd), "IsCrowd");
  CheckBoxes<T>(ctx, kAnchor);
  CheckBoxes<T>(ctx, kGtBoxes);
  std::vector<int64_t> classes;
  if (P::kLabels) classes = Integers(ctx.In(kGtLabels), "GtLabels");
  const T *corners = anchor.data<T>(), *truth = ctx.In(kGtBoxes).template data<T>();
  const T* info = ctx.In(P::kInfo).template data<T>();
  Draws draws(ctx);
  std::vector<int32_t> located, scored, labels, numbers;
  std::vector<T> deltas, weights;
  std::vector<int64_t> located_ends{0}, scored_ends{0};
  for (int64_t i = 0; i < images; ++i) {
    CheckInterrupt();
    const T height = info[i * 3], width = info[i * 3 + 1], scale = info[i * 3 + 2];
    ENFORCE(height > T(0) && width > T(0) && scale > T(0), InvalidArgument,
            "ImInfo must hold numbers above 0, got ", height, ", ", width, ", ", scale,
            " for image ", i);
    std::vector<boxes::Box<T>> inside, boxes;
    std::vector<int64_t> which, sources;
    const T reach = static_cast<T>(P::Straddle(a));
    for (int64_t k = 0; k < count; ++k) {
      const auto b = boxes::Box<T>::At(corners + k * 4);
      if (reach >= T(0) &&
          !(b.x0 >= -reach && b.y0 >= -reach && b.x1 < width + reach && b.y1 < height + reach))
        continue;
      inside.push_back(b);
      which.push_back(k);
    }
    for (int64_t t = rows[i]; t < rows[i + 1]; ++t) {
      if (crowd[t]) continue;
      boxes.push_back(boxes::Box<T>::At(truth + t * 4) * scale);
      sources.push_back(t);
    }
    const Assigned found = Assign(inside, boxes, P::RuleOf(a), P::Random(a) ? &draws : nullptr);
    for (size_t k = 0; k < found.located.size(); ++k) {
      located.push_back(static_cast<int32_t>(which[found.located[k]] + i * count));
      T delta[4];
      WriteDelta<T>(inside[found.located[k]], boxes[found.truth[k]], nullptr, delta);
      deltas.insert(deltas.end(), delta, delta + 4);
      weights.insert(weights.end(), 4, found.counts[k] ? T(1) : T(0));
    }
    const size_t drawn = found.located.size() - found.objects.size();
    for (size_t k = 0; k < found.objects.size(); ++k) {
      scored.push_back(static_cast<int32_t>(which[found.objects[k]] + i * count));
      labels.push_back(P::kLabels ? static_cast<int32_t>(classes[sources[found.truth[drawn + k]]])
                                  : 1);
    }
    for (int64_t k : found.background) {
      scored.push_back(static_cast<int32_t>(which[k] + i * count));
      labels.push_back(0);
    }
    numbers.push_back(static_cast<int32_t>(found.located.size()) + 1);
    located_ends.push_back(static_cast<int64_t>(located.size()));
    scored_ends.push_back(static_cast<int64_t>(scored.size()));
  }
  const DType dtype = anchor.dtype();
  Give(ctx, kLocationIndex, located, 1, DType::kInt32, {located_ends}, true);
  Give(ctx, kScoreIndex, scored, 1, DType::kInt32, {scored_ends}, true);
  Give(ctx, kTargetBBox, deltas, 4, dtype, {located_ends});
  Give(ctx, kTargetLabel, labels, 1, DType::kInt32, {scored_ends});
  Give(ctx, kInsideWeight, weights, 4, dtype, {located_ends});
  if (!P::kLabels) return;
  std::vector<int64_t> each(static_cast<size_t>(images + 1));
  std::iota(each.begin(), each.end(), 0);
  Give(ctx, kForegroundNumber, numbers, 1, DType::kInt32, {each});
}

}  // namespace dygraph::targets

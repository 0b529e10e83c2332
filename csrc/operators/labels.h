// Class labels as the losses take them: int32 or int64 numbers of classes with an axis of 1 in
// place of the class axis or without it, or (soft_label) a distribution of the scores' shape.
#pragma once

#include "kernels/softmax.h"
#include "op/op_registry.h"
#include "operators/class_labels.h"

namespace dygraph::labels {

// [outer, classes, inner] around the class axis.
inline kernels::SoftmaxShape ShapeOf(const Dims& scores, int axis) {
  int a = NormalizeAxis(axis, scores.rank());
  return {Numel(scores, 0, a), scores[a], Numel(scores, a + 1, scores.rank())};
}

// Whether two shapes may be one, unknown sizes taken as fitting.
inline bool Fits(const Dims& x, const Dims& y) {
  bool same = x.size() == y.size();
  for (size_t i = 0; same && i < x.size(); ++i) same = x[i] == y[i] || !BothKnown(x[i], y[i]);
  return same;
}

// InvalidArgument unless both slots have one shape: losses never broadcast.
inline void CheckSameShape(InferContext& ctx, int a, int b) {
  const std::vector<SlotInfo>& slots = ctx.call().op->inputs;
  ENFORCE(Fits(ctx.dims(a), ctx.dims(b)), InvalidArgument, slots[a].name, " and ", slots[b].name,
          " must have one shape, got ", ctx.dims(a), " and ", ctx.dims(b),
          ". Bring them together with reshape()");
}

// Checks Label against the scores; gives the loss's shape, that of the scores with 1 class. With
// `as_label` a Label without the class axis gives a loss without it.
inline Dims InferLoss(const InferContext& ctx, int scores_slot, const char* scores_name,
                      int label_slot, int axis, bool soft, bool as_label = false) {
  const Dims &scores = ctx.dims(scores_slot), &label = ctx.dims(label_slot);
  ENFORCE(!scores.empty(), InvalidArgument, scores_name, " must have a class axis, got shape ",
          scores);
  int a = NormalizeAxis(axis, scores.rank());
  Dims loss = scores;
  loss[a] = 1;
  Dims bare;
  for (int i = 0; i < scores.rank(); ++i) {
    if (i != a) bare.push_back(scores[i]);
  }
  DType type = ctx.dtype(label_slot);
  if (soft) {
    ENFORCE(Fits(label, scores), InvalidArgument, "with soft_label, Label must have the shape of ",
            scores_name, " ", scores, ", got ", label, ". Class numbers need soft_label=False");
    ENFORCE(type == ctx.dtype(scores_slot), Type, "with soft_label, Label must be of the type of ",
            scores_name, ", ", ctx.dtype(scores_slot), ", got ", type);
  } else {
    ENFORCE(Fits(label, loss) || Fits(label, bare), InvalidArgument, "Label must have the shape ",
            loss, " or ", bare, " for ", scores_name, " ", scores, " with its classes along axis ",
            a, ", got ", label, ". Distributions need soft_label=True");
    ENFORCE(type == DType::kInt64 || type == DType::kInt32, Type,
            "Label must hold int64 or int32 class numbers, got ", type,
            ". Distributions need soft_label=True");
    if (as_label && label.rank() == bare.rank()) return bare;
  }
  return loss;
}

}  // namespace dygraph::labels

// operators/loss/turns.h on the device: paths are made where they are read.
#pragma once

#include "cuda/errors_cuda.h"
#include "operators/arguments.h"
#include "operators/class_labels.h"
#include "operators/loss/turn_rule.h"

namespace dygraph::hierarchical_sigmoid {

// Integers of one input.
struct Indices {
  const int32_t* narrow = nullptr;
  const int64_t* wide = nullptr;
  Indices(const Tensor& t, const char* slot) {
    VisitIndices(t, slot, [this](auto* at) { Set(at); });
  }
  void Set(const int32_t* at) { narrow = at; }
  void Set(const int64_t* at) { wide = at; }
  DYGRAPH_INLINE int64_t operator[](int64_t i) const { return narrow ? narrow[i] : wide[i]; }
};

// The turns on each sample's path.
template <class T>
struct Turns : TurnRule<T> {
  bool custom;
  int64_t classes, steps;  // steps: of PathTable
  labels::ClassLabels label;
  Indices table, code;
  cuda::IndexGuard row;
  cuda::ValueReport bad_turn;

  explicit Turns(const KernelContext& ctx)
      : custom(ctx.HasInput(kPathTable)),
        classes(ctx.attrs<HierarchicalSigmoidAttrs>().num_classes),
        steps(custom ? ctx.In(kPathTable).dim(1) : 0),
        label(ctx.In(kLabel)),
        table(ctx.In(custom ? kPathTable : kLabel), custom ? "PathTable" : "Label"),
        code(ctx.In(custom ? kPathCode : kLabel), custom ? "PathCode" : "Label"),
        row({"hierarchical_sigmoid", "PathTable"}, ctx.In(kW).dim(0)),
        bad_turn("PathCode must hold 0 or 1, got %") {
    label.CheckAll(classes);
  }
  int64_t Most() const { return custom ? steps : Depth(classes); }  // terms of a sample
  // Leaf c of the heap numbering has the parents c / 2, c / 4, ... down to 1.
  DYGRAPH_INLINE int64_t Leaf(int64_t i) const { return label[i] + classes; }
  DYGRAPH_INLINE int64_t Count(int64_t i) const {
    int64_t count = 0;
    if (custom) {
      while (count < steps && table[i * steps + count] >= 0) ++count;
    } else {
      for (int64_t c = Leaf(i); c > 1; c >>= 1) ++count;
    }
    return count;
  }
  DYGRAPH_INLINE int64_t Row(int64_t i, int64_t k) const {
    return custom ? row(table[i * steps + k]) : (Leaf(i) >> (k + 1)) - 1;
  }
  DYGRAPH_INLINE int Turn(int64_t i, int64_t k) const {
    if (!custom) return static_cast<int>(Leaf(i) >> k & 1);
    const int64_t turn = code[i * steps + k];
    if (turn != 0 && turn != 1) bad_turn(static_cast<double>(turn));
    return turn != 0;
  }
  DYGRAPH_INLINE T Value(int64_t i, int64_t k, T z, T shown) const {
    return TurnRule<T>::CostOf(k < Count(i) ? Turn(i, k) : 0, z, shown);
  }
  DYGRAPH_INLINE T Slope(int64_t i, int64_t k, T z) const {
    return TurnRule<T>::SlopeOf(Turn(i, k), z);
  }
  DYGRAPH_INLINE T Curve(int64_t, int64_t, T z) const { return TurnRule<T>::CurveOf(z); }
};

}  // namespace dygraph::hierarchical_sigmoid

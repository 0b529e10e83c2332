// The turns of hierarchical_sigmoid, as terms of operators/loss/chosen_rows_loops.h.
#pragma once

#include <vector>

#include "operators/arguments.h"
#include "operators/loss/turn_rule.h"

namespace dygraph::hierarchical_sigmoid {

// The turns on each sample's path.
template <class T>
struct Turns : TurnRule<T> {
  std::vector<std::vector<int64_t>> rows;
  std::vector<std::vector<char>> turns;

  explicit Turns(const KernelContext& ctx) {
    int64_t n = ctx.In(kX).dim(0), height = ctx.In(kW).dim(0);
    rows.resize(static_cast<size_t>(n));
    turns.resize(rows.size());
    if (ctx.HasInput(kPathTable)) {
      Custom(ctx, n, height);
      return;
    }
    int64_t classes = ctx.attrs<HierarchicalSigmoidAttrs>().num_classes;
    std::vector<int64_t> label = Integers(ctx.In(kLabel), "Label");
    for (int64_t i = 0; i < n; ++i) {
      ENFORCE(label[i] >= 0 && label[i] < classes, OutOfRange,
              "every Label must be a class in [0, ", classes, "), got ", label[i], " at position ",
              i);
      // Leaf c of the heap numbering, whose parents are c / 2, c / 4, ... down to 1.
      for (int64_t c = label[i] + classes; c > 1; c >>= 1) {
        rows[i].push_back((c >> 1) - 1);
        turns[i].push_back(static_cast<char>(c & 1));
      }
    }
  }
  void Custom(const KernelContext& ctx, int64_t n, int64_t height) {
    std::vector<int64_t> table = Integers(ctx.In(kPathTable), "PathTable");
    std::vector<int64_t> code = Integers(ctx.In(kPathCode), "PathCode");
    int64_t steps = ctx.In(kPathTable).dim(1);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = i * steps; j < (i + 1) * steps && table[j] >= 0; ++j) {
        ENFORCE(table[j] < height, OutOfRange, "PathTable must hold rows of W in [0, ", height,
                "), got ", table[j], " at position ", j);
        ENFORCE(code[j] == 0 || code[j] == 1, InvalidArgument, "PathCode must hold 0 or 1, got ",
                code[j], " at position ", j);
        rows[i].push_back(table[j]);
        turns[i].push_back(static_cast<char>(code[j]));
      }
    }
  }
  int64_t Count(int64_t i) const { return static_cast<int64_t>(rows[i].size()); }
  int64_t Row(int64_t i, int64_t k) const { return rows[i][k]; }
  int Turn(int64_t i, int64_t k) const { return turns[i][k]; }
  T Value(int64_t i, int64_t k, T z, T shown) const {
    return TurnRule<T>::CostOf(k < Count(i) ? Turn(i, k) : 0, z, shown);
  }
  T Slope(int64_t i, int64_t k, T z) const { return TurnRule<T>::SlopeOf(Turn(i, k), z); }
  T Curve(int64_t, int64_t, T z) const { return TurnRule<T>::CurveOf(z); }
};

}  // namespace dygraph::hierarchical_sigmoid

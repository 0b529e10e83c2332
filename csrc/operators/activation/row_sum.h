// What operators along one axis share: their attributes have a member `axis`.
#pragma once

#include "kernels/softmax.h"
#include "operators/reduce/reduction.h"

namespace dygraph {

inline kernels::SoftmaxShape ShapeOf(const Dims& dims, int axis) {
  if (dims.empty()) return {1, 1, 1};
  int a = NormalizeAxis(axis, dims.rank());
  return {Numel(dims, 0, a), dims[a], Numel(dims, a + 1, dims.rank())};
}

// The sums of x along the axis, kept as ones, so that they broadcast against x.
template <class A>
RecipeRef RowSum(GradBuilder& g, RecipeRef x) {
  RecipeRef sums = g.Temp();
  g.Call("reduce_sum", {x}, {sums}).AttrsFrom([](const void* forward, void* backward) {
    auto* to = static_cast<reduce::ReduceAttrs*>(backward);
    to->dim = {static_cast<const A*>(forward)->axis};
    to->keep_dim = true;
  });
  return sums;
}
template <class A>
RecipeRef RowDot(GradBuilder& g, RecipeRef a, RecipeRef b) {
  return RowSum<A>(g, g.Apply("elementwise_mul", {a, b}));
}

}  // namespace dygraph

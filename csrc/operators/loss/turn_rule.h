// Slots, attributes and formulas of hierarchical_sigmoid.
#pragma once

#include <cmath>

#include "kernels/simd.h"
#include "op/op_registry.h"

namespace dygraph::hierarchical_sigmoid {

constexpr int kX = 0, kW = 1, kLabel = 2, kPathTable = 3, kPathCode = 4, kBias = 5, kOut = 0,
              kPreOut = 1, kWOut = 2;

struct HierarchicalSigmoidAttrs {
  int32_t num_classes = 2;
  bool is_sparse = false;
  bool remote_prefetch = false;
  int32_t trainer_id = 0;
  std::vector<int64_t> height_sections;
  std::vector<std::string> epmap;
  std::vector<std::string> table_names;
};

// Steps of the longest path of the complete binary tree over `classes` leaves.
inline int64_t Depth(int64_t classes) {
  int64_t depth = 0;
  for (int64_t c = classes - 1; c > 0; c >>= 1) ++depth;
  return depth;
}

// The cost of a turn with the score z: Softplus(z) less z times the turn.
template <class T>
struct TurnRule {
  static DYGRAPH_INLINE T Within(T z) { return z < T(-40) ? T(-40) : z > T(40) ? T(40) : z; }
  static DYGRAPH_INLINE T Softplus(T z) {
    return std::log1p(std::exp(-std::abs(z))) + (z > T(0) ? z : T(0));
  }
  static DYGRAPH_INLINE T Logistic(T z) { return T(1) / (T(1) + std::exp(-z)); }
  static DYGRAPH_INLINE bool Flat(T z) { return z < T(-40) || z > T(40); }
  static DYGRAPH_INLINE T Shown(T z) { return Softplus(Within(z)); }
  // shown: Shown(z)
  static DYGRAPH_INLINE T CostOf(int turn, T z, T shown) {
    return turn ? Softplus(-Within(z)) : shown;
  }
  static DYGRAPH_INLINE T SlopeOf(int turn, T z) {
    return Flat(z) ? T(0) : Logistic(z) - static_cast<T>(turn);
  }
  static DYGRAPH_INLINE T CurveOf(T z) { return Flat(z) ? T(0) : Logistic(z) * Logistic(-z); }
};

}  // namespace dygraph::hierarchical_sigmoid

// Slots, attributes and formulas of nce.
#pragma once

#include <cmath>

#include "kernels/simd.h"
#include "op/op_registry.h"

namespace dygraph::nce {

constexpr int kInput = 0, kLabel = 1, kWeight = 2, kBias = 3, kSampleWeight = 4, kProbs = 5,
              kAlias = 6, kAliasProbs = 7, kCost = 0, kSampleLogits = 1, kSampleLabels = 2;
constexpr int kUniform = 0, kLogUniform = 1, kCustom = 2;

struct NceAttrs {
  int32_t num_total_classes = 0;
  int32_t num_neg_samples = 10;
  int32_t sampler = kUniform;
  int32_t seed = 0;
  bool is_sparse = false;
  bool remote_prefetch = false;
  int32_t trainer_id = 0;
  std::vector<int64_t> height_sections;
  std::vector<std::string> epmap;
  std::vector<std::string> table_names;
  std::vector<int32_t> custom_neg_classes;
};

// How probable class c is as noise, where no probabilities are given.
DYGRAPH_INLINE double NoiseOf(int sampler, int64_t c, int64_t total) {
  const double at = static_cast<double>(c), count = static_cast<double>(total);
  return sampler == kLogUniform ? std::log((at + 2) / (at + 1)) / std::log(count + 1) : 1 / count;
}

// The class that a uniform number u draws.
DYGRAPH_INLINE int64_t ClassOf(int sampler, double u, int64_t total) {
  const double count = static_cast<double>(total);
  int64_t c = static_cast<int64_t>(u * count);
  if (sampler == kLogUniform) c = static_cast<int64_t>(std::exp(u * std::log(count + 1))) - 1;
  return c < total - 1 ? c : total - 1;
}

// What a class costs with the score z: b is num_neg_samples times its probability as noise,
// `chosen` whether it is a true class.
template <class T>
struct NoiseRule {
  static DYGRAPH_INLINE T Logistic(T z) {
    T e = std::exp(-std::abs(z));
    return (z >= T(0) ? T(1) : e) / (T(1) + e);
  }
  static DYGRAPH_INLINE T Shown(T z) { return Logistic(z); }
  // o: Shown(z)
  static DYGRAPH_INLINE T CostOf(bool chosen, T b, T weight, T o) {
    return -weight * std::log((chosen ? o : b) / (o + b));
  }
  static DYGRAPH_INLINE T SlopeOf(bool chosen, T b, T weight, T z) {
    T o = Logistic(z);
    return weight * Logistic(-z) * (chosen ? -b : o) / (o + b);
  }
  static DYGRAPH_INLINE T CurveOf(bool chosen, T b, T weight, T z) {
    T o = Logistic(z), n = Logistic(-z);
    T bend = chosen ? b * (T(1) + b) : (T(1) - 2 * o) * (o + b) - o * n;
    return weight * o * n * bend / ((o + b) * (o + b));
  }
};

}  // namespace dygraph::nce

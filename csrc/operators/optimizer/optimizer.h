// What optimizer operators share: checks made before anything is written.
#pragma once

#include <cmath>
#include <initializer_list>
#include <utility>

#include "operators/optimizer/optimizer_loops.h"

namespace dygraph::optimizer {

// A tensor the step reads and writes beside the parameter, or its gradient (dense or selected
// rows): shape and type of Param.
void CheckLikeParam(const InferContext& ctx, int param, int slot, const char* name);

bool IsScalar(const Dims& d);  // [1] or []
// A number in a tensor of shape [1] or [], of float32 or Param's type.
void CheckScalar(const InferContext& ctx, int param, int slot, const char* name);

// The shape rule most steps share: the gradient and the states are like Param, the outputs like
// their inputs. `kept` pairs input and output slots, Param's first.
void InferStep(InferContext& ctx, int param, int grad,
               std::initializer_list<std::pair<int, int>> kept, std::initializer_list<int> scalars);

// A power of beta, or another number that goes from step to step.
void InferNumber(InferContext& ctx, int in, int out);

// Where such a number goes, of float32 or float64; nowhere without a tensor.
class NumberTo {
 public:
  explicit NumberTo(Tensor* out)
      : dtype_(out ? out->dtype() : DType::kUnset), to_(out ? out->mutable_raw_data() : nullptr) {}
  DYGRAPH_BOTH void operator()(double value) const {
    if (dtype_ == DType::kFloat32) *static_cast<float*>(to_) = static_cast<float>(value);
    if (dtype_ == DType::kFloat64) *static_cast<double*>(to_) = value;
  }

 private:
  DType dtype_;
  void* to_;
};

// What a step that touches few rows leaves as it is, where it does not write in place.
void CopyThrough(const Tensor& from, Tensor* to);

// v moved towards 0 by `low`, not beyond it: what an L1 penalty does.
template <class T>
DYGRAPH_INLINE T Shrunk(T v, T low) {
  T size = std::abs(v) - low;
  return low > 0 && size <= 0 ? T(0) : v > 0 ? size : -size;
}

// Of a step with penalties: `low` as in Shrunk, and what is divided by afterwards.
template <class T>
struct ProximalNumbers {
  T rate, low, shrink;
};

}  // namespace dygraph::optimizer

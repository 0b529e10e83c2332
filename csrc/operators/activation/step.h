// Functions that give whole numbers: ceil, floor, round. A policy says kComment, kExample and how
// it rounds a number that need not be whole, Whole(x).
#pragma once

#include "operators/activation/activation.h"

namespace dygraph::activation {

template <class Rounding>
struct Step : Elementwise {
  static constexpr const char *kComment = Rounding::kComment, *kExample = Rounding::kExample,
                              *kGradComment = "X@GRAD = 0: the function is a step.";
  static constexpr int64_t kCost = 4;
  template <class T>
  struct F {
    DYGRAPH_INLINE T operator()(T x) const {
      if constexpr (std::is_integral_v<T>) {
        return x;
      } else {
        return Rounding::Whole(x);
      }
    }
    DYGRAPH_INLINE T Slope(T x) const { return x == x ? T(0) : T(0); }
  };
};

}  // namespace dygraph::activation

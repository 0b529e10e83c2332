#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct Round : Elementwise {
  static constexpr const char* kComment =
      "Out = the whole number nearest to X, halves to the even one as NumPy does (Fluid rounds "
      "them away from 0), elementwise. The gradient is 0.";
  static constexpr const char* kExample =
      ">>> F.round(to_variable([0.5, 1.5, 2.4, -2.6])).tolist()\n"
      "[0.0, 2.0, 2.0, -3.0]";
  static constexpr const char* kGradComment = "X@GRAD = 0: the function is a step.";
  static constexpr int64_t kCost = 4;
  template <class T>
  struct F {
    DYGRAPH_INLINE T operator()(T x) const {
      if constexpr (std::is_integral_v<T>) {
        return x;
      } else {
        return std::nearbyint(x);
      }
    }
    DYGRAPH_INLINE T Slope(T x) const { return x == x ? T(0) : T(0); }
  };
};

REGISTER_ELEMENTWISE(round, Round, float, double, int32_t, int64_t);

}  // namespace
}  // namespace dygraph::activation

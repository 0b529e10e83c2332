#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct Floor : Elementwise {
  static constexpr const char* kComment =
      "Out = the largest whole number not above X, elementwise. The gradient is 0.";
  static constexpr const char* kExample =
      ">>> F.floor(to_variable([1.7, -1.2, 2.0])).tolist()\n"
      "[1.0, -2.0, 2.0]";
  static constexpr const char* kGradComment = "X@GRAD = 0: the function is a step.";
  static constexpr int64_t kCost = 4;
  template <class T>
  struct F {
    DYGRAPH_INLINE T operator()(T x) const {
      if constexpr (std::is_integral_v<T>) {
        return x;
      } else {
        return std::floor(x);
      }
    }
    DYGRAPH_INLINE T Slope(T x) const { return x == x ? T(0) : T(0); }
  };
};

REGISTER_ELEMENTWISE(floor, Floor, float, double, int32_t, int64_t);

}  // namespace
}  // namespace dygraph::activation

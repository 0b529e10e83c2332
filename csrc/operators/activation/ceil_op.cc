#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct Ceil : Elementwise {
  static constexpr const char* kComment =
      "Out = the smallest whole number not below X, elementwise. The gradient is 0.";
  static constexpr const char* kExample =
      ">>> F.ceil(to_variable([1.2, -1.2, 2.0])).tolist()\n"
      "[2.0, -1.0, 2.0]";
  static constexpr const char* kGradComment = "X@GRAD = 0: the function is a step.";
  static constexpr int64_t kCost = 4;
  template <class T>
  struct F {
    DYGRAPH_INLINE T operator()(T x) const {
      if constexpr (std::is_integral_v<T>) {
        return x;
      } else {
        return std::ceil(x);
      }
    }
    DYGRAPH_INLINE T Slope(T x) const { return x == x ? T(0) : T(0); }
  };
};

REGISTER_ELEMENTWISE(ceil, Ceil, float, double, int32_t, int64_t);

}  // namespace
}  // namespace dygraph::activation

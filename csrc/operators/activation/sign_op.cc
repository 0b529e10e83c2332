#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct Sign : Elementwise {
  static constexpr const char* kComment =
      "Out = 1 where X > 0, -1 where X < 0, NaN where X is NaN, else 0, elementwise. The gradient "
      "is "
      "0.";
  static constexpr const char* kExample =
      ">>> F.sign(to_variable([-3.0, 0.0, 2.0])).tolist()\n"
      "[-1.0, 0.0, 1.0]";
  static constexpr const char* kGradComment = "X@GRAD = 0: the function is a step.";
  static constexpr int64_t kCost = 2;
  template <class T>
  struct F {
    DYGRAPH_INLINE T operator()(T x) const {
      return x != x ? x : static_cast<T>((x > T(0)) - (x < T(0)));
    }
    DYGRAPH_INLINE T Slope(T x) const { return x == x ? T(0) : T(0); }
  };
};

REGISTER_ELEMENTWISE(sign, Sign, float, double, uint8_t, int8_t, int16_t, int32_t, int64_t);

}  // namespace
}  // namespace dygraph::activation

#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct Trunc : Elementwise {
  static constexpr const char* kComment =
      "Out = X without its fraction: rounded toward 0, elementwise. The gradient is 0.";
  static constexpr const char* kExample =
      ">>> F.trunc(to_variable([-1.5, 0.5, 2.7])).tolist()\n"
      "[-1.0, 0.0, 2.0]";
  static constexpr const char* kGradComment = "X@GRAD = 0: the function is a step.";
  static constexpr int64_t kCost = 4;
  template <class T>
  struct F {
    DYGRAPH_INLINE T operator()(T x) const {
      if constexpr (std::is_integral_v<T>) {
        return x;
      } else {
        return std::trunc(x);
      }
    }
    DYGRAPH_INLINE T Slope(T) const { return T(0); }
  };
};

REGISTER_ELEMENTWISE(trunc, Trunc, float, double, int32_t, int64_t);

}  // namespace
}  // namespace dygraph::activation

#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct Abs : Elementwise {
  static constexpr const char* kComment = "Out = |X|, elementwise.";
  static constexpr const char* kExample =
      ">>> F.abs(to_variable([-2.0, 0.0, 3.0])).tolist()\n"
      "[2.0, 0.0, 3.0]";
  static constexpr const char* kGradComment = "X@GRAD = Out@GRAD * sign(X), 0 at 0.";
  static constexpr bool kHot = true;
  static constexpr int64_t kCost = 1;
  template <class T>
  struct F {
    DYGRAPH_INLINE T operator()(T x) const {
      if constexpr (std::is_integral_v<T>) {  // the lowest number has no magnitude: it wraps
        return x < 0 ? static_cast<T>(-static_cast<std::make_unsigned_t<T>>(x)) : x;
      } else {
        return kernels::Abs(x);
      }
    }
    DYGRAPH_INLINE T Gradient(T x, T g) const { return x > T(0) ? g : x < T(0) ? -g : x * g; }
  };
};

REGISTER_ELEMENTWISE(abs, Abs, float, double, int32_t, int64_t);

}  // namespace
}  // namespace dygraph::activation

#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct Relu : Elementwise {
  static constexpr const char* kComment =
      "Out = max(X, 0), elementwise. Its gradient is Out@GRAD where Out > 0, and 0 at 0.";
  static constexpr const char* kExample =
      ">>> F.relu(to_variable([-1.0, 0.0, 2.0])).tolist()\n"
      "[0.0, 0.0, 2.0]";
  static constexpr const char* kGradComment = "X@GRAD = Out@GRAD where Out > 0, else 0.";
  static constexpr bool kFromOut = true, kHot = true;
  static constexpr int64_t kCost = 1;
  template <class T>
  struct F {
    // a NaN passes
    DYGRAPH_INLINE T operator()(T x) const { return x <= T(0) ? T(0) : x; }
    DYGRAPH_INLINE T Gradient(T out, T g) const { return out > T(0) ? g : T(0); }
  };
};

REGISTER_ELEMENTWISE(relu, Relu, float, double, int32_t, int64_t);

}  // namespace
}  // namespace dygraph::activation

#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct LeakyRelu : Elementwise {
  static constexpr const char* kComment = "Out = X where X > 0, else alpha * X, elementwise.";
  static constexpr const char* kExample =
      ">>> F.leaky_relu(to_variable([-4.0, 0.0, 2.0]), alpha=0.25).tolist()\n"
      "[-1.0, 0.0, 2.0]";
  static constexpr const char* kGradComment =
      "X@GRAD = Out@GRAD where X > 0, else alpha * Out@GRAD.";
  static constexpr bool kHot = true;
  static constexpr int64_t kCost = 1;
  struct Attrs {
    double alpha = 0.02;
  };
  static void Declare(OpDef& op) { op.Attr(&Attrs::alpha, "alpha", "the slope below 0"); }
  template <class T>
  struct F {
    T alpha;
    explicit F(const Attrs& a) : alpha(static_cast<T>(a.alpha)) {}
    DYGRAPH_INLINE T operator()(T x) const { return x > T(0) ? x : alpha * x; }
    DYGRAPH_INLINE T Slope(T x) const { return x > T(0) ? T(1) : alpha; }
  };
};

REGISTER_ELEMENTWISE(leaky_relu, LeakyRelu, float, double);

}  // namespace
}  // namespace dygraph::activation

#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct Softshrink : Elementwise {
  static constexpr const char* kComment =
      "Out = X - lambda where X > lambda, X + lambda where X < -lambda, else 0, elementwise.";
  static constexpr const char* kExample =
      ">>> F.softshrink(to_variable([-2.0, 0.25, 1.0]), lambda_=0.5).tolist()\n"
      "[-1.5, 0.0, 0.5]";
  static constexpr const char* kGradComment = "X@GRAD = Out@GRAD where |X| > lambda, else 0.";
  static constexpr int64_t kCost = 2;
  struct Attrs {
    double lambda = 0.5;
  };
  static void Declare(OpDef& op) {
    op.Attr(&Attrs::lambda, "lambda", "what is no larger becomes 0");
  }
  template <class T>
  struct F {
    T lambda;
    explicit F(const Attrs& a) : lambda(static_cast<T>(a.lambda)) {}
    DYGRAPH_INLINE T operator()(T x) const {
      return x > lambda ? x - lambda : x < -lambda ? x + lambda : x == x ? T(0) : x;
    }
    DYGRAPH_INLINE T Slope(T x) const { return x >= -lambda && x <= lambda ? T(0) : T(1); }
  };
};

REGISTER_ELEMENTWISE(softshrink, Softshrink, float, double);

}  // namespace
}  // namespace dygraph::activation

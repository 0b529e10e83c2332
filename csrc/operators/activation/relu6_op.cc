#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct Relu6 : Elementwise {
  static constexpr const char* kComment = "Out = min(max(X, 0), threshold), elementwise.";
  static constexpr const char* kExample =
      ">>> F.relu6(to_variable([-1.0, 3.0, 8.0])).tolist()\n"
      "[0.0, 3.0, 6.0]";
  static constexpr const char* kGradComment =
      "X@GRAD = Out@GRAD where 0 < Out < threshold, else 0.";
  static constexpr bool kFromOut = true;
  static constexpr int64_t kCost = 2;
  struct Attrs {
    double threshold = 6.0;
  };
  static void Declare(OpDef& op) { op.Attr(&Attrs::threshold, "threshold", "the upper bound"); }
  template <class T>
  struct F {
    T threshold;
    explicit F(const Attrs& a) : threshold(static_cast<T>(a.threshold)) {}
    DYGRAPH_INLINE T operator()(T x) const { return kernels::Clamp(x, T(0), threshold); }
    DYGRAPH_INLINE T Slope(T y) const { return y > T(0) && y < threshold ? T(1) : T(0); }
  };
};

REGISTER_ELEMENTWISE(relu6, Relu6, float, double);

}  // namespace
}  // namespace dygraph::activation

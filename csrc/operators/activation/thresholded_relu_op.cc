#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct ThresholdedRelu : Elementwise {
  static constexpr const char* kComment = "Out = X where X > threshold, else 0, elementwise.";
  static constexpr const char* kExample =
      ">>> F.thresholded_relu(to_variable([-1.0, 0.5, 2.0])).tolist()\n"
      "[0.0, 0.0, 2.0]";
  static constexpr const char* kGradComment = "X@GRAD = Out@GRAD where X > threshold, else 0.";
  static constexpr int64_t kCost = 2;
  struct Attrs {
    double threshold = 1.0;
  };
  static void Declare(OpDef& op) {
    op.Attr(&Attrs::threshold, "threshold", "where the line begins");
  }
  template <class T>
  struct F {
    T threshold;
    explicit F(const Attrs& a) : threshold(static_cast<T>(a.threshold)) {}
    DYGRAPH_INLINE T operator()(T x) const { return x > threshold || x != x ? x : T(0); }
    DYGRAPH_INLINE T Slope(T x) const { return x > threshold ? T(1) : T(0); }
  };
};

REGISTER_ELEMENTWISE(thresholded_relu, ThresholdedRelu, float, double);

}  // namespace
}  // namespace dygraph::activation

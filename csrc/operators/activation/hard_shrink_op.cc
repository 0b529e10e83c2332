#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct HardShrink : Elementwise {
  static constexpr const char* kComment = "Out = X where |X| > threshold, else 0, elementwise.";
  static constexpr const char* kExample =
      ">>> F.hard_shrink(to_variable([-1.0, 0.25, 0.5, 2.0])).tolist()\n"
      "[-1.0, 0.0, 0.0, 2.0]";
  static constexpr const char* kGradComment = "X@GRAD = Out@GRAD where |X| > threshold, else 0.";
  static constexpr int64_t kCost = 2;
  struct Attrs {
    double threshold = 0.5;
  };
  static void Declare(OpDef& op) {
    op.Attr(&Attrs::threshold, "threshold", "what is no larger becomes 0");
  }
  template <class T>
  struct F {
    T threshold;
    explicit F(const Attrs& a) : threshold(static_cast<T>(a.threshold)) {}
    DYGRAPH_INLINE T operator()(T x) const { return x >= -threshold && x <= threshold ? T(0) : x; }
    DYGRAPH_INLINE T Slope(T x) const { return x >= -threshold && x <= threshold ? T(0) : T(1); }
  };
};

REGISTER_ELEMENTWISE(hard_shrink, HardShrink, float, double);

}  // namespace
}  // namespace dygraph::activation

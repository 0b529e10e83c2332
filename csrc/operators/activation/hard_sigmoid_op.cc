#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct HardSigmoid : Elementwise {
  static constexpr const char* kComment = "Out = min(max(slope * X + offset, 0), 1), elementwise.";
  static constexpr const char* kExample =
      ">>> [round(v, 4) for v in F.hard_sigmoid(to_variable([-3.0, 1.0, 3.0])).tolist()]\n"
      "[0.0, 0.7, 1.0]";
  static constexpr const char* kGradComment =
      "X@GRAD = slope * Out@GRAD where 0 < Out < 1, else 0.";
  static constexpr bool kFromOut = true, kHot = true;
  static constexpr int64_t kCost = 1;
  struct Attrs {
    double slope = 0.2;
    double offset = 0.5;
  };
  static void Declare(OpDef& op) {
    op.Attr(&Attrs::slope, "slope", "the slope between the two bends")
        .Attr(&Attrs::offset, "offset", "the value at X = 0, before clipping");
  }
  template <class T>
  struct F {
    T slope, offset;
    explicit F(const Attrs& a) : slope(static_cast<T>(a.slope)), offset(static_cast<T>(a.offset)) {}
    DYGRAPH_INLINE T operator()(T x) const {
      return kernels::Clamp(slope * x + offset, T(0), T(1));
    }
    DYGRAPH_INLINE T Gradient(T y, T g) const { return y > T(0) && y < T(1) ? slope * g : T(0); }
  };
};

REGISTER_ELEMENTWISE(hard_sigmoid, HardSigmoid, float, double);

}  // namespace
}  // namespace dygraph::activation

#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct Brelu : Elementwise {
  static constexpr const char* kComment = "Out = min(max(X, t_min), t_max), elementwise.";
  static constexpr const char* kExample =
      ">>> F.brelu(to_variable([-1.0, 5.0, 30.0])).tolist()\n"
      "[0.0, 5.0, 24.0]";
  static constexpr const char* kGradComment = "X@GRAD = Out@GRAD where t_min < X < t_max, else 0.";
  static constexpr int64_t kCost = 2;
  struct Attrs {
    double t_min = 0.0;
    double t_max = 24.0;
  };
  static void Declare(OpDef& op) {
    op.Attr(&Attrs::t_min, "t_min", "the lower bound")
        .Attr(&Attrs::t_max, "t_max", "the upper bound");
  }
  template <class T>
  struct F {
    T t_min, t_max;
    explicit F(const Attrs& a) : t_min(static_cast<T>(a.t_min)), t_max(static_cast<T>(a.t_max)) {}
    DYGRAPH_INLINE T operator()(T x) const { return kernels::Clamp(x, t_min, t_max); }
    DYGRAPH_INLINE T Slope(T x) const { return x > t_min && x < t_max ? T(1) : T(0); }
  };
};

REGISTER_ELEMENTWISE(brelu, Brelu, float, double);

}  // namespace
}  // namespace dygraph::activation

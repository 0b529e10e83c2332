#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct Elu : Elementwise {
  static constexpr const char* kComment =
      "Out = X where X > 0, else alpha * (exp(X) - 1), elementwise.";
  static constexpr const char* kExample =
      ">>> [round(v, 4) for v in F.elu(to_variable([-1.0, 0.0, 2.0])).tolist()]\n"
      "[-0.6321, 0.0, 2.0]";
  static constexpr const char* kGradComment =
      "X@GRAD = Out@GRAD where X > 0, else alpha * exp(X) * Out@GRAD.";
  struct Attrs {
    double alpha = 1.0;
  };
  static void Declare(OpDef& op) { op.Attr(&Attrs::alpha, "alpha", "the depth below 0"); }
  static constexpr bool kHot = true;
  static constexpr int64_t kCost = 5;
  template <class T>
  struct F {
    T alpha;
    explicit F(const Attrs& a) : alpha(static_cast<T>(a.alpha)) {}
    DYGRAPH_INLINE T operator()(T x) const { return x > T(0) ? x : alpha * kernels::Expm1(x); }
    DYGRAPH_INLINE T Slope(T x) const { return x > T(0) ? T(1) : alpha * kernels::Exp(x); }
  };
  static void Bend(GradBuilder& g, RecipeRef x, RecipeRef product, RecipeRef result) {
    RecipeRef below = g.ApplyScale(g.Apply("relu", {g.ApplyScale(x, -1.0f)}), -1.0f);
    RecipeRef kept = g.Temp();  // the product where X < 0
    g.Call("relu_grad", {g.ApplyScale(x, -1.0f), product}, {kept});
    Finish(g, kept, g.Apply("exp", {below}), g.attrs<Attrs>().alpha, result);
  }
};

REGISTER_ELEMENTWISE(elu, Elu, float, double);

}  // namespace
}  // namespace dygraph::activation

#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct Celu : Elementwise {
  static constexpr const char* kComment =
      "Out = X where X > 0, else alpha * (exp(X / alpha) - 1), elementwise (Barron, 2017).";
  static constexpr const char* kExample =
      ">>> F.celu(to_variable([-99.0, 2.0]), alpha=0.5).tolist()\n"
      "[-0.5, 2.0]";
  static constexpr const char* kGradComment =
      "X@GRAD = Out@GRAD where X > 0, else exp(X / alpha) * Out@GRAD.";
  struct Attrs {
    double alpha = 1.0;
  };
  static void Declare(OpDef& op) {
    op.Attr(&Attrs::alpha, "alpha", "the depth below 0, not 0",
            [](const std::string& name, const AttrValue& value) {
              ENFORCE(NumberOf(value) != 0, InvalidArgument, name,
                      " must not be 0, got 0. Use relu, which celu tends to");
            });
  }
  static constexpr bool kHot = true;
  static constexpr int64_t kCost = 6;
  template <class T>
  struct F {
    T alpha;
    explicit F(const Attrs& a) : alpha(static_cast<T>(a.alpha)) {}
    DYGRAPH_INLINE T operator()(T x) const {
      return x > T(0) ? x : alpha * kernels::Expm1(x / alpha);
    }
    DYGRAPH_INLINE T Slope(T x) const { return x > T(0) ? T(1) : kernels::Exp(x / alpha); }
  };
  static void Bend(GradBuilder& g, RecipeRef x, RecipeRef product, RecipeRef result) {
    const double one_over = 1 / g.attrs<Attrs>().alpha;
    RecipeRef below = g.Apply("relu", {g.ApplyScale(x, -1.0f)});  // -x, 0 where x > 0
    RecipeRef kept = g.Temp();                                    // the product where x < 0
    g.Call("relu_grad", {g.ApplyScale(x, -1.0f), product}, {kept});
    Finish(g, kept, g.Apply("exp", {g.ApplyScale(below, -one_over)}), one_over, result);
  }
};

REGISTER_ELEMENTWISE(celu, Celu, float, double);

}  // namespace
}  // namespace dygraph::activation

#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct Selu : Elementwise {
  static constexpr const char* kComment =
      "Out = scale * X where X > 0, else scale * alpha * (exp(X) - 1), elementwise. Klambauer et "
      "al., 2017.";
  static constexpr const char* kExample =
      ">>> [round(v, 4) for v in F.selu(to_variable([-1.0, 0.0, 1.0])).tolist()]\n"
      "[-1.1113, 0.0, 1.0507]";
  static constexpr const char* kGradComment =
      "X@GRAD = scale * Out@GRAD where X > 0, else scale * alpha * exp(X) * Out@GRAD.";
  struct Attrs {
    double scale = 1.0507009873554804934193349852946;
    double alpha = 1.6732632423543772848170429916717;
  };
  static void Declare(OpDef& op) {
    op.Attr(&Attrs::scale, "scale", "the factor of all")
        .Attr(&Attrs::alpha, "alpha", "the depth below 0");
  }
  static constexpr bool kHot = true;
  static constexpr int64_t kCost = 5;
  template <class T>
  struct F {
    T scale, alpha;
    explicit F(const Attrs& a) : scale(static_cast<T>(a.scale)), alpha(static_cast<T>(a.alpha)) {}
    DYGRAPH_INLINE T operator()(T x) const {
      return scale * (x > T(0) ? x : alpha * kernels::Expm1(x));
    }
    DYGRAPH_INLINE T Slope(T x) const {
      return scale * (x > T(0) ? T(1) : alpha * kernels::Exp(x));
    }
  };
  static void Bend(GradBuilder& g, RecipeRef x, RecipeRef product, RecipeRef result) {
    RecipeRef below = g.ApplyScale(g.Apply("relu", {g.ApplyScale(x, -1.0f)}), -1.0f);
    RecipeRef kept = g.Temp();  // the product where X < 0
    g.Call("relu_grad", {g.ApplyScale(x, -1.0f), product}, {kept});
    const Attrs& a = g.attrs<Attrs>();
    Finish(g, kept, g.Apply("exp", {below}), WorkOut([&](auto one) {
             using T = decltype(one);
             return static_cast<T>(a.scale) * static_cast<T>(a.alpha);
           }),
           result);
  }
};

REGISTER_ELEMENTWISE(selu, Selu, float, double);

}  // namespace
}  // namespace dygraph::activation

#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct Stanh : Elementwise {
  static constexpr const char* kComment = "Out = scale_b * tanh(scale_a * X), elementwise.";
  static constexpr const char* kExample =
      ">>> [round(v, 4) for v in F.stanh(to_variable([-1.0, 0.0, 1.0])).tolist()]\n"
      "[-1.0038, 0.0, 1.0038]";
  static constexpr const char* kGradComment =
      "X@GRAD = Out@GRAD * scale_a * scale_b * (1 - tanh(scale_a * X)^2).";
  struct Attrs {
    double scale_a = 0.67;
    double scale_b = 1.7159;
  };
  static void Declare(OpDef& op) {
    op.Attr(&Attrs::scale_a, "scale_a", "the factor of X")
        .Attr(&Attrs::scale_b, "scale_b", "the factor of the result");
  }
  template <class T>
  struct F {
    T scale_a, scale_b;
    explicit F(const Attrs& a)
        : scale_a(static_cast<T>(a.scale_a)), scale_b(static_cast<T>(a.scale_b)) {}
    DYGRAPH_INLINE T operator()(T x) const { return scale_b * kernels::Tanh(scale_a * x); }
    DYGRAPH_INLINE T Slope(T x) const {
      T t = kernels::Tanh(scale_a * x);
      return scale_a * scale_b * (T(1) - t * t);
    }
  };
  static void Bend(GradBuilder& g, RecipeRef x, RecipeRef product, RecipeRef result) {
    const Attrs& a = g.attrs<Attrs>();
    RecipeRef t = g.Apply("tanh", {g.ApplyScale(x, a.scale_a)}), curved = g.Temp();
    g.Call("tanh_grad", {t, product}, {curved});
    Finish(g, curved, t, WorkOut([&](auto one) {
             using T = decltype(one);
             const T scale_a = static_cast<T>(a.scale_a);
             return T(-2) * scale_a * scale_a * static_cast<T>(a.scale_b);
           }),
           result);
  }
};

REGISTER_ELEMENTWISE(stanh, Stanh, float, double);

}  // namespace
}  // namespace dygraph::activation

#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct TanhShrink : Elementwise {
  static constexpr const char* kComment = "Out = X - tanh(X), elementwise.";
  static constexpr const char* kExample =
      ">>> [round(v, 4) for v in F.tanh_shrink(to_variable([-1.0, 0.0, 1.0])).tolist()]\n"
      "[-0.2384, 0.0, 0.2384]";
  static constexpr const char* kGradComment = "X@GRAD = Out@GRAD * tanh(X)^2.";
  template <class T>
  struct F {
    DYGRAPH_INLINE T operator()(T x) const { return x - kernels::Tanh(x); }
    DYGRAPH_INLINE T Slope(T x) const {
      T t = kernels::Tanh(x);
      return t * t;
    }
  };
  static void Bend(GradBuilder& g, RecipeRef x, RecipeRef product, RecipeRef result) {
    RecipeRef t = g.Apply("tanh", {x}), curved = g.Temp();
    g.Call("tanh_grad", {t, product}, {curved});
    Finish(g, curved, t, 2.0f, result);
  }
};

REGISTER_ELEMENTWISE(tanh_shrink, TanhShrink, float, double);

}  // namespace
}  // namespace dygraph::activation

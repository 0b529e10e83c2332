#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct TanhShrink : Plain {
  static constexpr const char* kType = "tanh_shrink";
  static constexpr const char* kComment = "Out = X - tanh(X), elementwise.";
  static constexpr const char* kExample =
      ">>> [round(v, 4) for v in F.tanh_shrink(to_variable([-1.0, 0.0, 1.0])).tolist()]\n"
      "[-0.2384, 0.0, 0.2384]";
  static constexpr const char* kGradComment = "X@GRAD = Out@GRAD * tanh(X)^2.";
  template <class T>
  struct F {
    explicit F(const Attrs&) {}
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
template <class T>
using TanhShrinkKernel = Kernel<TanhShrink, T>;
template <class T>
using TanhShrinkGradKernel = GradKernel<TanhShrink, T>;

REGISTER_OPERATOR(tanh_shrink, Define<TanhShrink>);
REGISTER_CPU_KERNEL(tanh_shrink, TanhShrinkKernel, float, double);
REGISTER_OPERATOR(tanh_shrink_grad, DefineGrad<TanhShrink>);
REGISTER_CPU_KERNEL(tanh_shrink_grad, TanhShrinkGradKernel, float, double);

}  // namespace
}  // namespace dygraph::activation

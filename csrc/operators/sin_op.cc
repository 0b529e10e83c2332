#include "operators/activation.h"

namespace dygraph::activation {
namespace {

struct Sin : Plain {
  static constexpr const char* kType = "sin";
  static constexpr const char* kComment = "Out = sin(X), elementwise, X in radians.";
  static constexpr const char* kExample =
      ">>> [round(v, 4) for v in F.sin(to_variable([0.0, np.pi / 6, np.pi / 2])).tolist()]\n"
      "[0.0, 0.5, 1.0]";
  static constexpr const char* kGradComment = "X@GRAD = Out@GRAD * cos(X).";
  template <class T>
  struct F {
    explicit F(const Attrs&) {}
    DYGRAPH_INLINE T operator()(T x) const { return std::sin(x); }
    DYGRAPH_INLINE T Slope(T x) const { return std::cos(x); }
  };
  static void Bend(GradBuilder& g, RecipeRef x, RecipeRef product, RecipeRef result) {
    Finish(g, product, g.Apply("sin", {x}), -1.0f, result);
  }
};
template <class T>
using SinKernel = Kernel<Sin, T>;
template <class T>
using SinGradKernel = GradKernel<Sin, T>;

REGISTER_OPERATOR(sin, Define<Sin>);
REGISTER_CPU_KERNEL(sin, SinKernel, float, double);
REGISTER_OPERATOR(sin_grad, DefineGrad<Sin>);
REGISTER_CPU_KERNEL(sin_grad, SinGradKernel, float, double);

}  // namespace
}  // namespace dygraph::activation

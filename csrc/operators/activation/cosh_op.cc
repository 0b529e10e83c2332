#include "kernels/trigonometry.h"
#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct Cosh : Plain {
  static constexpr const char* kType = "cosh";
  static constexpr const char* kComment = "Out = (exp(X) + exp(-X)) / 2, elementwise.";
  static constexpr const char* kExample =
      ">>> [round(v, 4) for v in F.cosh(to_variable([-1.0, 0.0, 1.0])).tolist()]\n"
      "[1.5431, 1.0, 1.5431]";
  static constexpr const char* kGradComment = "X@GRAD = Out@GRAD * sinh(X).";
  static constexpr bool kHot = true;
  static constexpr int64_t kCost = 6;
  template <class T>
  struct F {
    explicit F(const Attrs&) {}
    DYGRAPH_INLINE T operator()(T x) const { return kernels::Cosh(x); }
    DYGRAPH_INLINE T Slope(T x) const { return kernels::Sinh(x); }
  };
  static void Bend(GradBuilder& g, RecipeRef x, RecipeRef product, RecipeRef result) {
    Finish(g, product, g.Apply("cosh", {x}), 1.0f, result);
  }
};
template <class T>
using CoshKernel = Kernel<Cosh, T>;
template <class T>
using CoshGradKernel = GradKernel<Cosh, T>;

REGISTER_OPERATOR(cosh, Define<Cosh>);
REGISTER_CPU_KERNEL(cosh, CoshKernel, float, double);
REGISTER_OPERATOR(cosh_grad, DefineGrad<Cosh>);
REGISTER_CPU_KERNEL(cosh_grad, CoshGradKernel, float, double);

}  // namespace
}  // namespace dygraph::activation

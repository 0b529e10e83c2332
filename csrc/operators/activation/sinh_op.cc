#include "kernels/trigonometry.h"
#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct Sinh : Plain {
  static constexpr const char* kType = "sinh";
  static constexpr const char* kComment = "Out = (exp(X) - exp(-X)) / 2, elementwise.";
  static constexpr const char* kExample =
      ">>> [round(v, 4) for v in F.sinh(to_variable([-1.0, 0.0, 1.0])).tolist()]\n"
      "[-1.1752, 0.0, 1.1752]";
  static constexpr const char* kGradComment = "X@GRAD = Out@GRAD * cosh(X).";
  static constexpr bool kHot = true;
  static constexpr int64_t kCost = 6;
  template <class T>
  struct F {
    explicit F(const Attrs&) {}
    DYGRAPH_INLINE T operator()(T x) const { return kernels::Sinh(x); }
    DYGRAPH_INLINE T Slope(T x) const { return kernels::Cosh(x); }
  };
  static void Bend(GradBuilder& g, RecipeRef x, RecipeRef product, RecipeRef result) {
    Finish(g, product, g.Apply("sinh", {x}), 1.0f, result);
  }
};
template <class T>
using SinhKernel = Kernel<Sinh, T>;
template <class T>
using SinhGradKernel = GradKernel<Sinh, T>;

REGISTER_OPERATOR(sinh, Define<Sinh>);
REGISTER_CPU_KERNEL(sinh, SinhKernel, float, double);
REGISTER_OPERATOR(sinh_grad, DefineGrad<Sinh>);
REGISTER_CPU_KERNEL(sinh_grad, SinhGradKernel, float, double);

}  // namespace
}  // namespace dygraph::activation

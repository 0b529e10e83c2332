#include "kernels/trigonometry.h"
#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct Sinh : Elementwise {
  static constexpr const char* kComment = "Out = (exp(X) - exp(-X)) / 2, elementwise.";
  static constexpr const char* kExample =
      ">>> [round(v, 4) for v in F.sinh(to_variable([-1.0, 0.0, 1.0])).tolist()]\n"
      "[-1.1752, 0.0, 1.1752]";
  static constexpr const char* kGradComment = "X@GRAD = Out@GRAD * cosh(X).";
  static constexpr bool kHot = true;
  static constexpr int64_t kCost = 6;
  template <class T>
  struct F {
    DYGRAPH_INLINE T operator()(T x) const { return kernels::Sinh(x); }
    DYGRAPH_INLINE T Slope(T x) const { return kernels::Cosh(x); }
  };
  static void Bend(GradBuilder& g, RecipeRef x, RecipeRef product, RecipeRef result) {
    Finish(g, product, g.Apply("sinh", {x}), 1.0f, result);
  }
};

REGISTER_ELEMENTWISE(sinh, Sinh, float, double);

}  // namespace
}  // namespace dygraph::activation

#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct Erf : Elementwise {
  static constexpr const char* kComment =
      "Out = 2 / sqrt(pi) * integral of exp(-t^2) from 0 to X, elementwise.";
  static constexpr const char* kExample =
      ">>> [round(v, 4) for v in F.erf(to_variable([-1.0, 0.0, 1.0])).tolist()]\n"
      "[-0.8427, 0.0, 0.8427]";
  static constexpr const char* kGradComment = "X@GRAD = Out@GRAD * 2 / sqrt(pi) * exp(-X^2).";
  static constexpr bool kHot = true;
  static constexpr int64_t kCost = 6;
  template <class T>
  struct F {
    DYGRAPH_INLINE T operator()(T x) const { return kernels::Erf(x); }
    DYGRAPH_INLINE T Slope(T x) const { return T(1.1283791670955126) * kernels::Exp(-x * x); }
  };
  static void Bend(GradBuilder& g, RecipeRef x, RecipeRef product, RecipeRef result) {
    RecipeRef slope = g.Temp();
    g.Call("erf_grad", {x, product}, {slope});
    Finish(g, slope, x, -2.0f, result);
  }
};

REGISTER_ELEMENTWISE(erf, Erf, float, double);

}  // namespace
}  // namespace dygraph::activation

#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct Expm1 : Elementwise {
  static constexpr const char* kComment = "Out = exp(X) - 1, elementwise, exact near 0.";
  static constexpr const char* kExample =
      ">>> [round(v, 4) for v in F.expm1(to_variable([0.0, 1.0])).tolist()]\n"
      "[0.0, 1.7183]";
  static constexpr const char* kGradComment = "X@GRAD = Out@GRAD * exp(X).";
  static constexpr bool kHot = true;
  static constexpr int64_t kCost = 5;
  template <class T>
  struct F {
    DYGRAPH_INLINE T operator()(T x) const { return kernels::Expm1(x); }
    DYGRAPH_INLINE T Slope(T x) const { return kernels::Exp(x); }
  };
  static void Bend(GradBuilder& g, RecipeRef x, RecipeRef product, RecipeRef result) {
    Finish(g, product, g.Apply("exp", {x}), 1.0f, result);
  }
};

REGISTER_ELEMENTWISE(expm1, Expm1, float, double);

}  // namespace
}  // namespace dygraph::activation

#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct Sqrt : Elementwise {
  static constexpr const char* kComment = "Out = the square root of X, elementwise; NaN below 0.";
  static constexpr const char* kExample =
      ">>> F.sqrt(to_variable([0.0, 2.25, 9.0])).tolist()\n"
      "[0.0, 1.5, 3.0]";
  static constexpr const char* kGradComment = "X@GRAD = Out@GRAD / (2 Out).";
  static constexpr bool kFromOut = true, kHot = true;
  static constexpr int64_t kCost = 4;
  template <class T>
  struct F {
    DYGRAPH_INLINE T operator()(T x) const { return kernels::Sqrt(x); }
    DYGRAPH_INLINE T Gradient(T y, T g) const { return T(0.5) * g / y; }
  };
  static void Bend(GradBuilder& g, RecipeRef y, RecipeRef product, RecipeRef result) {
    RecipeRef once = g.Apply("sqrt_grad", {y, product});
    g.Call("elementwise_div", {g.ApplyScale(once, -1.0f), y}, {result});
  }
};

REGISTER_ELEMENTWISE(sqrt, Sqrt, float, double);

}  // namespace
}  // namespace dygraph::activation

#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct Sigmoid : Elementwise {
  static constexpr const char* kComment = "Out = 1 / (1 + exp(-X)), elementwise.";
  static constexpr const char* kExample =
      ">>> [round(v, 4) for v in F.sigmoid(to_variable([-1.0, 0.0, 1.0])).tolist()]\n"
      "[0.2689, 0.5, 0.7311]";
  static constexpr const char* kGradComment = "X@GRAD = Out@GRAD * Out * (1 - Out).";
  static constexpr bool kFromOut = true, kHot = true;
  static constexpr int64_t kCost = 3, kGradCost = 1;
  template <class T>
  struct F {
    DYGRAPH_INLINE T operator()(T x) const { return kernels::Sigmoid(x); }
    DYGRAPH_INLINE T Gradient(T y, T g) const { return g * y * (T(1) - y); }
  };
  static void Bend(GradBuilder& g, RecipeRef y, RecipeRef product, RecipeRef result) {
    g.Call("elementwise_mul", {product, Line(g, y, -2.0f, 1.0f)}, {result});
  }
};

REGISTER_ELEMENTWISE(sigmoid, Sigmoid, float, double);

}  // namespace
}  // namespace dygraph::activation

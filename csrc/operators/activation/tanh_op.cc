#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct Tanh : Elementwise {
  static constexpr const char* kComment = "Out = tanh(X), elementwise.";
  static constexpr const char* kExample =
      ">>> [round(v, 4) for v in F.tanh(to_variable([-1.0, 0.0, 1.0])).tolist()]\n"
      "[-0.7616, 0.0, 0.7616]";
  static constexpr const char* kGradComment = "X@GRAD = Out@GRAD * (1 - Out^2).";
  static constexpr bool kFromOut = true, kHot = true;
  static constexpr int64_t kCost = 4, kGradCost = 1;
  template <class T>
  struct F {
    DYGRAPH_INLINE T operator()(T x) const { return kernels::Tanh(x); }
    DYGRAPH_INLINE T Slope(T y) const { return T(1) - y * y; }
  };
  static void Bend(GradBuilder& g, RecipeRef y, RecipeRef product, RecipeRef result) {
    g.Call("elementwise_mul", {product, g.ApplyScale(y, -2.0f)}, {result});
  }
};

REGISTER_ELEMENTWISE(tanh, Tanh, float, double);

}  // namespace
}  // namespace dygraph::activation

#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct Exp : Elementwise {
  static constexpr const char* kComment = "Out = e^X, elementwise.";
  static constexpr const char* kExample =
      ">>> [round(v, 4) for v in F.exp(to_variable([-1.0, 0.0, 1.0])).tolist()]\n"
      "[0.3679, 1.0, 2.7183]";
  static constexpr const char* kGradComment = "X@GRAD = Out@GRAD * Out.";
  static constexpr bool kFromOut = true, kHot = true, kFloat = true;
  static constexpr int64_t kCost = 3, kGradCost = 1;
  template <class T>
  struct F {
    DYGRAPH_INLINE T operator()(T x) const { return kernels::Exp(x); }
    DYGRAPH_INLINE T Slope(T y) const { return y; }
  };
  static void Bend(GradBuilder& g, RecipeRef, RecipeRef, RecipeRef result) {  // the product itself
    g.Call("elementwise_mul", {g.OutputGrad(grad::kXGrad), g.Input(grad::kOutGrad)}, {result});
  }
};

REGISTER_ELEMENTWISE(exp, Exp, float, double, int32_t, int64_t);

}  // namespace
}  // namespace dygraph::activation

#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct Atanh : Elementwise {
  static constexpr const char* kComment =
      "Out = artanh(X), the number whose hyperbolic tangent is X, elementwise; infinite at -1 and "
      "1, NaN outside.";
  static constexpr const char* kExample =
      ">>> [round(v, 4) for v in F.atanh(to_variable([-0.5, 0.0, 0.5])).tolist()]\n"
      "[-0.5493, 0.0, 0.5493]";
  static constexpr const char* kGradComment = "X@GRAD = Out@GRAD / (1 - X^2).";
  static constexpr bool kHot = true;
  static constexpr int64_t kCost = 6;
  template <class T>
  struct F {
    DYGRAPH_INLINE T operator()(T x) const {
      T t = kernels::Abs(x);
      return kernels::CopySign(T(0.5) * kernels::Log1p((t + t) / (T(1) - t)), x);
    }
    DYGRAPH_INLINE T Slope(T x) const { return T(1) / ((T(1) - x) * (T(1) + x)); }
  };
  static void Bend(GradBuilder& g, RecipeRef x, RecipeRef product, RecipeRef result) {
    RecipeRef slope = g.Apply("reciprocal", {Line(g, g.Apply("square", {x}), -1.0f, 1.0f)});
    Finish(g, Times(g, product, g.Apply("square", {slope})), x, 2.0f, result);
  }
};

REGISTER_ELEMENTWISE(atanh, Atanh, float, double);

}  // namespace
}  // namespace dygraph::activation

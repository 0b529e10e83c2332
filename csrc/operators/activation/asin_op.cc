#include "kernels/trigonometry.h"
#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct Asin : Elementwise {
  static constexpr const char* kComment =
      "Out = arcsin(X), elementwise, in [-pi/2, pi/2]; NaN outside [-1, 1].";
  static constexpr const char* kExample =
      ">>> [round(v, 4) for v in F.asin(to_variable([-1.0, 0.0, 1.0])).tolist()]\n"
      "[-1.5708, 0.0, 1.5708]";
  static constexpr const char* kGradComment = "X@GRAD = Out@GRAD / sqrt(1 - X^2).";
  static constexpr bool kHot = true;
  static constexpr int64_t kCost = 6;
  template <class T>
  struct F {
    DYGRAPH_INLINE T operator()(T x) const { return kernels::Asin(x); }
    DYGRAPH_INLINE T Slope(T x) const { return kernels::Rsqrt((T(1) - x) * (T(1) + x)); }
  };
  static void Bend(GradBuilder& g, RecipeRef x, RecipeRef product, RecipeRef result) {
    RecipeRef r = g.Apply("rsqrt", {Line(g, g.Apply("square", {x}), -1.0f, 1.0f)});
    RecipeRef cube = Times(g, g.Apply("square", {r}), r);
    Finish(g, Times(g, product, cube), x, 1.0f, result);
  }
};

REGISTER_ELEMENTWISE(asin, Asin, float, double);

}  // namespace
}  // namespace dygraph::activation

#include "kernels/trigonometry.h"
#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct Atan : Elementwise {
  static constexpr const char* kComment = "Out = arctan(X), elementwise, in [-pi/2, pi/2].";
  static constexpr const char* kExample =
      ">>> [round(v, 4) for v in F.atan(to_variable([-1.0, 0.0, 1.0])).tolist()]\n"
      "[-0.7854, 0.0, 0.7854]";
  static constexpr const char* kGradComment = "X@GRAD = Out@GRAD / (1 + X^2).";
  static constexpr bool kHot = true;
  static constexpr int64_t kCost = 6;
  template <class T>
  struct F {
    DYGRAPH_INLINE T operator()(T x) const { return kernels::Atan(x); }
    DYGRAPH_INLINE T Slope(T x) const { return T(1) / (T(1) + x * x); }
  };
  static void Bend(GradBuilder& g, RecipeRef x, RecipeRef product, RecipeRef result) {
    RecipeRef d = g.Apply("reciprocal", {Line(g, g.Apply("square", {x}), 1.0f, 1.0f)});
    Finish(g, Times(g, product, g.Apply("square", {d})), x, -2.0f, result);
  }
};

REGISTER_ELEMENTWISE(atan, Atan, float, double);

}  // namespace
}  // namespace dygraph::activation

#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct Softsign : Elementwise {
  static constexpr const char* kComment = "Out = X / (1 + |X|), elementwise.";
  static constexpr const char* kExample =
      ">>> F.softsign(to_variable([-1.0, 0.0, 3.0])).tolist()\n"
      "[-0.5, 0.0, 0.75]";
  static constexpr const char* kGradComment = "X@GRAD = Out@GRAD / (1 + |X|)^2.";
  static constexpr int64_t kCost = 6;
  template <class T>
  struct F {
    DYGRAPH_INLINE T operator()(T x) const { return x / (T(1) + kernels::Abs(x)); }
    DYGRAPH_INLINE T Slope(T x) const {
      T d = T(1) / (T(1) + kernels::Abs(x));
      return d * d;
    }
  };
  static void Bend(GradBuilder& g, RecipeRef x, RecipeRef product, RecipeRef result) {
    RecipeRef d = g.Apply("reciprocal", {Line(g, g.Apply("abs", {x}), 1.0f, 1.0f)});
    RecipeRef cube = Times(g, g.Apply("square", {d}), d);
    Finish(g, Times(g, product, cube), g.Apply("sign", {x}), -2.0f, result);
  }
};

REGISTER_ELEMENTWISE(softsign, Softsign, float, double);

}  // namespace
}  // namespace dygraph::activation

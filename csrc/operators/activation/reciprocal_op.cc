#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct Reciprocal : Elementwise {
  static constexpr const char* kComment = "Out = 1 / X, elementwise.";
  static constexpr const char* kExample =
      ">>> F.reciprocal(to_variable([1.0, -2.0, 4.0])).tolist()\n"
      "[1.0, -0.5, 0.25]";
  static constexpr const char* kGradComment = "X@GRAD = -Out@GRAD * Out^2.";
  static constexpr bool kFromOut = true;
  static constexpr int64_t kCost = 4;
  template <class T>
  struct F {
    DYGRAPH_INLINE T operator()(T x) const { return T(1) / x; }
    DYGRAPH_INLINE T Slope(T y) const { return -y * y; }
  };
  static void Bend(GradBuilder& g, RecipeRef y, RecipeRef product, RecipeRef result) {
    Finish(g, product, y, -2.0f, result);
  }
};

REGISTER_ELEMENTWISE(reciprocal, Reciprocal, float, double);

}  // namespace
}  // namespace dygraph::activation

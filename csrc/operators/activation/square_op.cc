#include "kernels/integer.h"
#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct Square : Elementwise {
  static constexpr const char* kComment = "Out = X^2, elementwise.";
  static constexpr const char* kExample =
      ">>> F.square(to_variable([-3.0, 0.5])).tolist()\n"
      "[9.0, 0.25]";
  static constexpr const char* kGradComment = "X@GRAD = 2 X * Out@GRAD.";
  static constexpr bool kHot = true;
  static constexpr int64_t kCost = 1;
  template <class T>
  struct F {
    DYGRAPH_INLINE T operator()(T x) const { return kernels::Times(x, x); }
    DYGRAPH_INLINE T Slope(T x) const { return T(2) * x; }
  };
  static void Bend(GradBuilder& g, RecipeRef, RecipeRef product, RecipeRef result) {
    g.Call("scale", {product}, {result}).Attr("scale", 2.0f);
  }
};

REGISTER_ELEMENTWISE(square, Square, float, double, int32_t, int64_t);

}  // namespace
}  // namespace dygraph::activation

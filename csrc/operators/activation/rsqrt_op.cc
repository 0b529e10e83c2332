#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct Rsqrt : Elementwise {
  static constexpr const char* kComment =
      "Out = 1 / the square root of X, elementwise; inf at 0, NaN below.";
  static constexpr const char* kExample =
      ">>> F.rsqrt(to_variable([0.25, 1.0, 4.0])).tolist()\n"
      "[2.0, 1.0, 0.5]";
  static constexpr const char* kGradComment = "X@GRAD = -Out@GRAD * Out^3 / 2.";
  static constexpr bool kFromOut = true, kHot = true;
  static constexpr int64_t kCost = 8, kGradCost = 1;
  template <class T>
  struct F {
    DYGRAPH_INLINE T operator()(T x) const { return kernels::Rsqrt(x); }
    DYGRAPH_INLINE T Gradient(T y, T g) const { return T(-0.5) * g * y * y * y; }
  };
  static void Bend(GradBuilder& g, RecipeRef y, RecipeRef product, RecipeRef result) {
    g.Call("elementwise_mul", {g.ApplyScale(product, -1.5f), g.Apply("square", {y})}, {result});
  }
};

REGISTER_ELEMENTWISE(rsqrt, Rsqrt, float, double);

}  // namespace
}  // namespace dygraph::activation

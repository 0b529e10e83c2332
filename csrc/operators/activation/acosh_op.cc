#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct Acosh : Elementwise {
  static constexpr const char* kComment =
      "Out = arcosh(X), the number of at least 0 whose hyperbolic cosine is X, elementwise; NaN "
      "below 1.";
  static constexpr const char* kExample =
      ">>> [round(v, 4) for v in F.acosh(to_variable([1.0, 2.0])).tolist()]\n"
      "[0.0, 1.317]";
  static constexpr const char* kGradComment = "X@GRAD = Out@GRAD / sqrt(X^2 - 1).";
  static constexpr bool kHot = true;
  static constexpr int64_t kCost = 8;
  template <class T>
  struct F {
    static constexpr T kFar = std::is_same_v<T, double> ? T(1e9) : T(1e5);
    DYGRAPH_INLINE T operator()(T x) const {
      T more = (x < kFar ? x : kFar) - T(1);
      T small = kernels::Log1p(more + kernels::Sqrt(more) * kernels::Sqrt(more + T(2)));
      T large = kernels::Log(x) + T(0.69314718055994530942);
      return x > kFar ? large : x != x ? x : small;
    }
    DYGRAPH_INLINE T Slope(T x) const {
      return kernels::Rsqrt(x - T(1)) * kernels::Rsqrt(x + T(1));
    }
  };
  static void Bend(GradBuilder& g, RecipeRef x, RecipeRef product, RecipeRef result) {
    RecipeRef r = g.Apply("rsqrt", {Line(g, g.Apply("square", {x}), 1.0f, -1.0f)});
    RecipeRef cube = Times(g, g.Apply("square", {r}), r);
    Finish(g, Times(g, product, cube), x, -1.0f, result);
  }
};

REGISTER_ELEMENTWISE(acosh, Acosh, float, double);

}  // namespace
}  // namespace dygraph::activation

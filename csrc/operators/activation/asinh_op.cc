#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct Asinh : Elementwise {
  static constexpr const char* kComment =
      "Out = arsinh(X), the number whose hyperbolic sine is X, elementwise.";
  static constexpr const char* kExample =
      ">>> [round(v, 4) for v in F.asinh(to_variable([-1.0, 0.0, 1.0])).tolist()]\n"
      "[-0.8814, 0.0, 0.8814]";
  static constexpr const char* kGradComment = "X@GRAD = Out@GRAD / sqrt(1 + X^2).";
  static constexpr bool kHot = true;
  static constexpr int64_t kCost = 8;
  template <class T>
  struct F {
    // where 1 is lost beside the square of a number
    static constexpr T kFar = std::is_same_v<T, double> ? T(1e9) : T(1e5);
    DYGRAPH_INLINE T operator()(T x) const {
      T t = kernels::Abs(x), near = t < kFar ? t : kFar, z = near * near;
      T small = kernels::Log1p(near + z / (T(1) + kernels::Sqrt(T(1) + z)));
      T large = kernels::Log(t) + T(0.69314718055994530942);
      return kernels::CopySign(t > kFar ? large : t != t ? t : small, x);
    }
    DYGRAPH_INLINE T Slope(T x) const {
      T t = kernels::Abs(x), near = t < kFar ? t : kFar;
      return t > kFar ? T(1) / t : t != t ? t : kernels::Rsqrt(T(1) + near * near);
    }
  };
  static void Bend(GradBuilder& g, RecipeRef x, RecipeRef product, RecipeRef result) {
    RecipeRef r = g.Apply("rsqrt", {Line(g, g.Apply("square", {x}), 1.0f, 1.0f)});
    RecipeRef cube = Times(g, g.Apply("square", {r}), r);
    Finish(g, Times(g, product, cube), x, -1.0f, result);
  }
};

REGISTER_ELEMENTWISE(asinh, Asinh, float, double);

}  // namespace
}  // namespace dygraph::activation

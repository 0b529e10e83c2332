#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct Log1p : Elementwise {
  static constexpr const char* kComment =
      "Out = log(1 + X), elementwise, exact near 0; -inf at -1, NaN below.";
  static constexpr const char* kExample =
      ">>> [round(v, 4) for v in F.log1p(to_variable([0.0, 1.0, np.e - 1])).tolist()]\n"
      "[0.0, 0.6931, 1.0]";
  static constexpr const char* kGradComment = "X@GRAD = Out@GRAD / (1 + X).";
  static constexpr bool kHot = true, kFloat = true;
  static constexpr int64_t kCost = 5;
  template <class T>
  struct F {
    DYGRAPH_INLINE T operator()(T x) const { return kernels::Log1p(x); }
    DYGRAPH_INLINE T Slope(T x) const { return T(1) / (T(1) + x); }
  };
  static void Bend(GradBuilder& g, RecipeRef x, RecipeRef product, RecipeRef result) {
    RecipeRef d = g.Apply("reciprocal", {Line(g, x, 1.0f, 1.0f)});
    Finish(g, product, g.Apply("square", {d}), -1.0f, result);
  }
};

REGISTER_ELEMENTWISE(log1p, Log1p, float, double, int32_t, int64_t);

}  // namespace
}  // namespace dygraph::activation

#include "kernels/logarithm.h"
#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct Log10 : Elementwise {
  static constexpr const char* kComment =
      "Out = the logarithm of X to base 10, elementwise; -inf at 0, NaN below.";
  static constexpr const char* kExample =
      ">>> [round(v, 4) for v in F.log10(to_variable([0.1, 1.0, 1000.0])).tolist()]\n"
      "[-1.0, 0.0, 3.0]";
  static constexpr const char* kGradComment = "X@GRAD = Out@GRAD / (X * log(10)).";
  static constexpr bool kHot = true;
  static constexpr int64_t kCost = 4;
  template <class T>
  struct F {
    DYGRAPH_INLINE T operator()(T x) const { return kernels::Log10(x); }
    DYGRAPH_INLINE T Slope(T x) const { return T(0.4342944819032518) / x; }
  };
  static void Bend(GradBuilder& g, RecipeRef x, RecipeRef product, RecipeRef result) {
    RecipeRef slope = g.Temp();
    g.Call("log10_grad", {x, product}, {slope});
    Finish(g, slope, g.Apply("reciprocal", {x}), -1.0f, result);
  }
};

REGISTER_ELEMENTWISE(log10, Log10, float, double);

}  // namespace
}  // namespace dygraph::activation

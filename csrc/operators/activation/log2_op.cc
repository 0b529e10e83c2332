#include "kernels/logarithm.h"
#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct Log2 : Elementwise {
  static constexpr const char* kComment =
      "Out = the logarithm of X to base 2, elementwise; -inf at 0, NaN below.";
  static constexpr const char* kExample =
      ">>> [round(v, 4) for v in F.log2(to_variable([0.5, 1.0, 8.0])).tolist()]\n"
      "[-1.0, 0.0, 3.0]";
  static constexpr const char* kGradComment = "X@GRAD = Out@GRAD / (X * log(2)).";
  static constexpr bool kHot = true;
  static constexpr int64_t kCost = 4;
  template <class T>
  struct F {
    DYGRAPH_INLINE T operator()(T x) const { return kernels::Log2(x); }
    DYGRAPH_INLINE T Slope(T x) const { return T(1.4426950408889634) / x; }
  };
  static void Bend(GradBuilder& g, RecipeRef x, RecipeRef product, RecipeRef result) {
    RecipeRef slope = g.Temp();
    g.Call("log2_grad", {x, product}, {slope});
    Finish(g, slope, g.Apply("reciprocal", {x}), -1.0f, result);
  }
};

REGISTER_ELEMENTWISE(log2, Log2, float, double);

}  // namespace
}  // namespace dygraph::activation

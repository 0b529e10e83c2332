#include "operators/activation/special_activation.h"

namespace dygraph::activation {
namespace {

struct Erfc : Special {
  static constexpr const char* kComment =
      "Out = 1 - erf(X), elementwise, with all its digits where X is large.";
  static constexpr const char* kExample =
      ">>> [round(v, 4) for v in F.erfc(to_variable([-1.0, 0.0, 1.0])).tolist()]\n"
      "[1.8427, 1.0, 0.1573]";
  static constexpr bool kHot = true;
  static constexpr int64_t kCost = 10;
  template <class T>
  struct F {
    DYGRAPH_INLINE T operator()(T x) const { return kernels::Erfc(x); }
  };
  static void Gradient(GradBuilder& g, RecipeRef x, RecipeRef incoming, RecipeRef result) {
    RecipeRef slope = g.Temp();
    g.Call("erf_grad", {x, incoming}, {slope});
    g.Call("scale", {slope}, {result}).Attr("scale", -1.0f);
  }
};

REGISTER_SPECIAL(erfc, Erfc);

}  // namespace
}  // namespace dygraph::activation

#include "operators/activation/special_activation.h"

namespace dygraph::activation {
namespace {

struct Erfinv : Special {
  static constexpr const char* kComment =
      "Out = the number whose erf is X, elementwise; infinite at -1 and 1, NaN outside.";
  static constexpr const char* kExample =
      ">>> [round(v, 4) for v in F.erfinv(to_variable([-0.5, 0.0, 0.5])).tolist()]\n"
      "[-0.4769, 0.0, 0.4769]";
  static constexpr bool kHot = true;
  static constexpr int64_t kCost = 20;
  template <class T>
  struct F {
    DYGRAPH_INLINE T operator()(T x) const { return kernels::ErfInv(x); }
  };
  static void Gradient(GradBuilder& g, RecipeRef, RecipeRef incoming, RecipeRef result) {
    RecipeRef bell = g.Apply("exp", {g.Apply("square", {g.Output(kOut)})});
    Finish(g, bell, incoming, {0.886226925452758f, 0.8862269254527580137}, result);
  }
};

REGISTER_SPECIAL(erfinv, Erfinv);

}  // namespace
}  // namespace dygraph::activation

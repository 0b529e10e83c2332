#include "operators/activation/special_activation.h"

namespace dygraph::activation {
namespace {

struct BesselI1e : Bessel, BesselF<1, true> {
  static constexpr const char* kComment =
      "out = exp(-|x|) * I1(x), the scaled modified Bessel function of order 1, elementwise.";
  static constexpr const char* kExample =
      ">>> [round(v, 4) for v in F.i1e(to_variable([-1.0, 0.0, 1.0])).tolist()]\n"
      "[-0.2079, 0.0, 0.2079]";
  static void Gradient(GradBuilder& g, RecipeRef x, RecipeRef incoming, RecipeRef result) {
    BesselGradient(g, 1, true, x, incoming, result);
  }
};

REGISTER_SPECIAL(i1e, BesselI1e);

}  // namespace
}  // namespace dygraph::activation

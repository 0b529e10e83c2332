#include "operators/activation/special_activation.h"

namespace dygraph::activation {
namespace {

struct BesselI0 : Bessel, BesselF<0, false> {
  static constexpr const char* kComment =
      "out = I0(x), the modified Bessel function of the first kind of order 0, elementwise.";
  static constexpr const char* kExample =
      ">>> [round(v, 4) for v in F.i0(to_variable([-1.0, 0.0, 1.0])).tolist()]\n"
      "[1.2661, 1.0, 1.2661]";
  static void Gradient(GradBuilder& g, RecipeRef x, RecipeRef incoming, RecipeRef result) {
    BesselGradient(g, 0, false, x, incoming, result);
  }
};

REGISTER_SPECIAL(i0, BesselI0);

}  // namespace
}  // namespace dygraph::activation

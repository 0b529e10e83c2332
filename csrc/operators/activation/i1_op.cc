#include "operators/activation/special_activation.h"

namespace dygraph::activation {
namespace {

struct BesselI1 : Bessel, BesselF<1, false> {
  static constexpr const char* kComment =
      "out = I1(x), the modified Bessel function of the first kind of order 1, elementwise.";
  static constexpr const char* kExample =
      ">>> [round(v, 4) for v in F.i1(to_variable([-1.0, 0.0, 1.0])).tolist()]\n"
      "[-0.5652, 0.0, 0.5652]";
  static void Gradient(GradBuilder& g, RecipeRef x, RecipeRef incoming, RecipeRef result) {
    BesselGradient(g, 1, false, x, incoming, result);
  }
};

REGISTER_SPECIAL(i1, BesselI1);

}  // namespace
}  // namespace dygraph::activation

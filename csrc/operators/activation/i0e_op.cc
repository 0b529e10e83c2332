#include "operators/activation/special_activation.h"

namespace dygraph::activation {
namespace {

struct BesselI0e : Bessel, BesselF<0, true> {
  static constexpr const char* kComment =
      "out = exp(-|x|) * I0(x), the scaled modified Bessel function of order 0, elementwise.";
  static constexpr const char* kExample =
      ">>> [round(v, 4) for v in F.i0e(to_variable([-1.0, 0.0, 1.0])).tolist()]\n"
      "[0.4658, 1.0, 0.4658]";
  static void Gradient(GradBuilder& g, RecipeRef x, RecipeRef incoming, RecipeRef result) {
    BesselGradient(g, 0, true, x, incoming, result);
  }
};

REGISTER_SPECIAL(i0e, BesselI0e);

}  // namespace
}  // namespace dygraph::activation

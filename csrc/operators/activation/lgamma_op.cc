#include "operators/activation/special_activation.h"

namespace dygraph::activation {
namespace {

struct Lgamma : Special {
  static constexpr const char* kComment =
      "Out = log(|gamma(X)|), elementwise; inf at 0 and at negative whole numbers.";
  static constexpr const char* kExample =
      ">>> [round(v, 4) for v in F.lgamma(to_variable([0.5, 1.0, 4.0])).tolist()]\n"
      "[0.5724, 0.0, 1.7918]";
  static constexpr bool kHot = true;
  template <class T>
  struct F {
    DYGRAPH_INLINE float operator()(float x) const { return kernels::LogGammaOf(x); }
    DYGRAPH_BOTH double operator()(double x) const { return kernels::LogGamma(x); }
  };
  static void Gradient(GradBuilder& g, RecipeRef x, RecipeRef incoming, RecipeRef result) {
    g.Call("elementwise_mul", {g.Apply("digamma", {x}), incoming}, {result});
  }
};

REGISTER_SPECIAL(lgamma, Lgamma);

}  // namespace
}  // namespace dygraph::activation

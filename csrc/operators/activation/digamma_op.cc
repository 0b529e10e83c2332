#include "operators/activation/special_activation.h"

namespace dygraph::activation {
namespace {

struct Digamma : Special {
  static constexpr const char* kComment =
      "Out = the derivative of log(gamma(X)), elementwise; -inf at 0, inf at -0, NaN at negative "
      "whole numbers.";
  static constexpr const char* kExample =
      ">>> [round(v, 4) for v in F.digamma(to_variable([0.5, 1.0, 4.0])).tolist()]\n"
      "[-1.9635, -0.5772, 1.2561]";
  template <class T>
  struct F {
    DYGRAPH_BOTH T operator()(T x) const { return static_cast<T>(kernels::Digamma(x)); }
  };
  static void Gradient(GradBuilder& g, RecipeRef x, RecipeRef incoming, RecipeRef result) {
    RecipeRef slope = g.Temp();
    g.Call("polygamma", {x}, {slope}).Attr("n", 1);
    g.Call("elementwise_mul", {slope, incoming}, {result});
  }
};

REGISTER_SPECIAL(digamma, Digamma);

}  // namespace
}  // namespace dygraph::activation

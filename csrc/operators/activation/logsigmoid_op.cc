#include "kernels/activations.h"
#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct Logsigmoid : Elementwise {
  static constexpr const char* kComment =
      "Out = log(1 / (1 + exp(-X))), elementwise, without overflow for any X.";
  static constexpr const char* kExample =
      ">>> [round(v, 4) for v in F.logsigmoid(to_variable([-100.0, 0.0])).tolist()]\n"
      "[-100.0, -0.6931]";
  static constexpr const char* kGradComment = "X@GRAD = Out@GRAD / (1 + exp(X)).";
  static constexpr bool kHot = true;
  static constexpr int64_t kCost = 6;
  template <class T>
  struct F {
    DYGRAPH_INLINE T operator()(T x) const { return -kernels::Softplus(-x); }
    DYGRAPH_INLINE T Slope(T x) const { return kernels::Sigmoid(-x); }
  };
  static void Bend(GradBuilder& g, RecipeRef x, RecipeRef product, RecipeRef result) {
    RecipeRef t = g.Temp();
    g.Call("sigmoid_grad", {g.Apply("sigmoid", {x}), product}, {t});
    g.Call("scale", {t}, {result}).Attr("scale", -1.0f);
  }
};

REGISTER_ELEMENTWISE(logsigmoid, Logsigmoid, float, double);

}  // namespace
}  // namespace dygraph::activation

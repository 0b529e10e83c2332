#include "kernels/activations.h"
#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct Softplus : Elementwise {
  static constexpr const char* kComment =
      "Out = log(1 + exp(beta * X)) / beta, elementwise, without overflow; X itself where beta * X "
      "> threshold.";
  static constexpr const char* kExample =
      ">>> [round(v, 4) for v in F.softplus(to_variable([-1.0, 0.0, 1.0, 30.0])).tolist()]\n"
      "[0.3133, 0.6931, 1.3133, 30.0]";
  static constexpr const char* kGradComment =
      "X@GRAD = Out@GRAD / (1 + exp(-beta * X)), Out@GRAD itself where beta * X > threshold.";
  struct Attrs {
    double beta = 1.0;
    double threshold = 20.0;
  };
  static void Declare(OpDef& op) {
    op.Attr(&Attrs::beta, "beta", "how sharply it bends")
        .Attr(&Attrs::threshold, "threshold", "of beta * X, from where on Out is X");
  }
  static constexpr bool kHot = true;
  static constexpr int64_t kCost = 6;
  template <class T>
  struct F {
    T beta, threshold;
    explicit F(const Attrs& a)
        : beta(static_cast<T>(a.beta)), threshold(static_cast<T>(a.threshold)) {}
    DYGRAPH_INLINE T operator()(T x) const {
      T z = beta * x;
      return z > threshold ? x : kernels::Softplus(z) / beta;
    }
    DYGRAPH_INLINE T Slope(T x) const {
      T z = beta * x;
      return z > threshold ? T(1) : kernels::Sigmoid(z);
    }
  };
  static void Bend(GradBuilder& g, RecipeRef x, RecipeRef product, RecipeRef result) {
    const Attrs& a = g.attrs<Attrs>();
    RecipeRef t = g.Temp(), z = Line(g, x, a.beta, 0.0f), below = g.Temp();
    g.Call("sigmoid_grad", {g.Apply("sigmoid", {z}), product}, {t});
    g.Call("brelu_grad", {z, t}, {below})
        .Attr("t_min", -std::numeric_limits<double>::infinity())
        .Attr("t_max", a.threshold);
    g.Call("scale", {below}, {result}).Attr("scale", a.beta);
  }
};

REGISTER_ELEMENTWISE(softplus, Softplus, float, double);

}  // namespace
}  // namespace dygraph::activation

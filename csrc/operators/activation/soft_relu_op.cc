#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct SoftRelu : Elementwise {
  static constexpr const char* kComment =
      "Out = log(1 + exp(min(max(X, -threshold), threshold))), elementwise.";
  static constexpr const char* kExample =
      ">>> [round(v, 4) for v in F.soft_relu(to_variable([-1.0, 0.0, 1.0, 50.0])).tolist()]\n"
      "[0.3133, 0.6931, 1.3133, 40.0]";
  static constexpr const char* kGradComment =
      "X@GRAD = Out@GRAD / (1 + exp(-X)) where |X| < threshold, else 0.";
  struct Attrs {
    double threshold = 40.0;
  };
  static void Declare(OpDef& op) {
    op.Attr(&Attrs::threshold, "threshold", "X is cut to this size");
  }
  template <class T>
  struct F {
    T threshold;
    explicit F(const Attrs& a) : threshold(static_cast<T>(a.threshold)) {}
    DYGRAPH_INLINE T operator()(T x) const {
      T z = kernels::Clamp(x, -threshold, threshold);
      return (z > T(0) ? z : z == z ? T(0) : z) + std::log1p(kernels::Exp(-kernels::Abs(z)));
    }
    DYGRAPH_INLINE T Slope(T x) const {
      return x > -threshold && x < threshold ? kernels::Sigmoid(x) : T(0);
    }
  };
  static void Bend(GradBuilder& g, RecipeRef x, RecipeRef product, RecipeRef result) {
    const double t = g.attrs<Attrs>().threshold;
    RecipeRef curved = g.Temp();
    g.Call("sigmoid_grad", {g.Apply("sigmoid", {x}), product}, {curved});
    g.Call("brelu_grad", {x, curved}, {result}).Attr("t_min", -t).Attr("t_max", t);
  }
};

REGISTER_ELEMENTWISE(soft_relu, SoftRelu, float, double);

}  // namespace
}  // namespace dygraph::activation

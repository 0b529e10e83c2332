#include "kernels/activations.h"
#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct Swish : Elementwise {
  static constexpr const char* kComment =
      "Out = X / (1 + exp(-beta * X)), elementwise. Ramachandran et al., 2017.";
  static constexpr const char* kExample =
      ">>> [round(v, 4) for v in F.swish(to_variable([-1.0, 0.0, 1.0]), beta=2.0).tolist()]\n"
      "[-0.1192, 0.0, 0.8808]";
  static constexpr const char* kGradComment =
      "X@GRAD = Out@GRAD * (s + beta * X * s * (1 - s)) with s = 1 / (1 + exp(-beta * X)).";
  struct Attrs {
    double beta = 1.0;
  };
  static void Declare(OpDef& op) { op.Attr(&Attrs::beta, "beta", "how sharply it bends"); }
  static constexpr bool kHot = true;
  static constexpr int64_t kCost = 4;
  template <class T>
  struct F {
    T beta;
    explicit F(const Attrs& a) : beta(static_cast<T>(a.beta)) {}
    DYGRAPH_INLINE T operator()(T x) const { return kernels::Gated(x, beta * x); }
    DYGRAPH_INLINE T Slope(T x) const {
      T z = beta * x, s = kernels::Sigmoid(z);
      return s + kernels::Clamp(z, T(-1e3), T(1e3)) * s * (T(1) - s);  // 0 times inf is none
    }
  };
  static void Bend(GradBuilder& g, RecipeRef x, RecipeRef product, RecipeRef result) {
    // beta s (1 - s) (2 + beta X (1 - 2 s)) with s = sigmoid(beta X)
    const double beta = g.attrs<Attrs>().beta;
    RecipeRef s = g.Apply("sigmoid", {g.ApplyScale(x, beta)}), curved = g.Temp();
    g.Call("sigmoid_grad", {s, product}, {curved});
    RecipeRef tilt = Line(g, Times(g, x, Line(g, s, -2.0f, 1.0f)), beta, 2.0f);
    Finish(g, curved, tilt, beta, result);
  }
};

REGISTER_ELEMENTWISE(swish, Swish, float, double);

}  // namespace
}  // namespace dygraph::activation

#include "kernels/activations.h"
#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct Mish : Elementwise {
  static constexpr const char* kComment =
      "Out = X * tanh(log(1 + exp(X))), elementwise; log(1 + exp(X)) is X where X > threshold. "
      "Misra, 2019.";
  static constexpr const char* kExample =
      ">>> [round(v, 4) for v in F.mish(to_variable([-1.0, 0.0, 1.0, 30.0])).tolist()]\n"
      "[-0.3034, 0.0, 0.8651, 30.0]";
  static constexpr const char* kGradComment =
      "X@GRAD = Out@GRAD * (t + X * s * (1 - t^2)) with t = tanh(log(1 + exp(X))) and s = 1 / (1 + "
      "exp(-X)).";
  struct Attrs {
    double threshold = 20.0;
  };
  static void Declare(OpDef& op) {
    op.Attr(&Attrs::threshold, "threshold", "from where on log(1 + exp(X)) is X");
  }
  static constexpr bool kHot = true;
  static constexpr int64_t kCost = 10;
  template <class T>
  struct F {
    T threshold;
    explicit F(const Attrs& a) : threshold(static_cast<T>(a.threshold)) {}
    DYGRAPH_INLINE T operator()(T x) const {
      return x > threshold ? x * kernels::Tanh(x) : kernels::Mish(x);
    }
    DYGRAPH_INLINE T Slope(T x) const {
      T t = x > threshold ? kernels::Tanh(x) : kernels::TanhOfSoftplus(x);
      // Ends come first: 0 times inf is none.
      return t + kernels::Clamp(x, T(-1e3), T(1e3)) * kernels::Sigmoid(x) * (T(1) - t * t);
    }
  };
  static void Bend(GradBuilder& g, RecipeRef x, RecipeRef product, RecipeRef result) {
    // (1 - t^2) s (2 + X ((1 - s) - 2 t s))
    RecipeRef s = g.Apply("sigmoid", {x}), t = g.Apply("tanh", {g.Apply("softplus", {x})});
    RecipeRef curved = g.Temp();
    g.Call("tanh_grad", {t, Times(g, product, s)}, {curved});
    RecipeRef ts = g.Apply("elementwise_mul", {Line(g, t, -2.0f, -1.0f), s});
    RecipeRef tilt = Line(g, Times(g, x, Line(g, ts, 1.0f, 1.0f)), 1.0f, 2.0f);
    Finish(g, curved, tilt, 1.0f, result);
  }
};

REGISTER_ELEMENTWISE(mish, Mish, float, double);

}  // namespace
}  // namespace dygraph::activation

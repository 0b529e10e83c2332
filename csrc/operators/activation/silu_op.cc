#include "kernels/activations.h"
#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct Silu : Elementwise {
  static constexpr const char* kComment = "Out = X / (1 + exp(-X)), elementwise.";
  static constexpr const char* kExample =
      ">>> [round(v, 4) for v in F.silu(to_variable([-1.0, 0.0, 1.0])).tolist()]\n"
      "[-0.2689, 0.0, 0.7311]";
  static constexpr const char* kGradComment =
      "X@GRAD = Out@GRAD * (s + X * s * (1 - s)) with s = 1 / (1 + exp(-X)).";
  static constexpr bool kHot = true;
  static constexpr int64_t kCost = 4;
  template <class T>
  struct F {
    DYGRAPH_INLINE T operator()(T x) const { return kernels::Silu(x); }
    DYGRAPH_INLINE T Slope(T x) const {
      T s = kernels::Sigmoid(x), c = kernels::Clamp(x, T(-1e3), T(1e3));  // 0 times inf is none
      return s + c * s * (T(1) - s);
    }
  };
  static void Bend(GradBuilder& g, RecipeRef x, RecipeRef product, RecipeRef result) {
    // beta s (1 - s) (2 + beta X (1 - 2 s)) with s = sigmoid(beta X)
    const float beta = 1.0f;
    RecipeRef s = g.Apply("sigmoid", {g.ApplyScale(x, beta)}), curved = g.Temp();
    g.Call("sigmoid_grad", {s, product}, {curved});
    RecipeRef tilt = Line(g, Times(g, x, Line(g, s, -2.0f, 1.0f)), beta, 2.0f);
    Finish(g, curved, tilt, beta, result);
  }
};

REGISTER_ELEMENTWISE(silu, Silu, float, double);

}  // namespace
}  // namespace dygraph::activation

#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct Log : Elementwise {
  static constexpr const char* kComment =
      "Out = the natural logarithm of X, elementwise; -inf at 0, NaN below.";
  static constexpr const char* kExample =
      ">>> [round(v, 4) for v in F.log(to_variable([1.0, 2.0, np.e])).tolist()]\n"
      "[0.0, 0.6931, 1.0]";
  static constexpr const char* kGradComment = "X@GRAD = Out@GRAD / X.";
  static constexpr bool kHot = true, kFloat = true;
  static constexpr int64_t kCost = 4;
  template <class T>
  struct F {
    DYGRAPH_INLINE T operator()(T x) const { return kernels::Log(x); }
    DYGRAPH_INLINE T Gradient(T x, T g) const { return g / x; }
  };
  static void Bend(GradBuilder& g, RecipeRef x, RecipeRef product, RecipeRef result) {
    RecipeRef twice = g.Apply("log_grad", {x, g.Apply("log_grad", {x, product})});
    g.Call("scale", {twice}, {result}).Attr("scale", -1.0f);
  }
};

REGISTER_ELEMENTWISE(log, Log, float, double, int32_t, int64_t);

}  // namespace
}  // namespace dygraph::activation

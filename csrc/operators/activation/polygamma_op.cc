#include "operators/activation/special_activation.h"

namespace dygraph::activation {
namespace {

struct PolygammaOfOrder : Special {
  static constexpr const char *kIn = "x", *kResult = "out";
  static constexpr int64_t kCost = 400;
  static constexpr const char* kComment =
      "out = the derivative of digamma(x) of order n, elementwise; infinite at 0 and at negative "
      "whole numbers.";
  static constexpr const char* kExample =
      ">>> [round(v, 4) for v in F.polygamma(to_variable([0.5, 1.0, 4.0]), n=1).tolist()]\n"
      "[4.9348, 1.6449, 0.2838]";
  struct Attrs {
    int32_t n = 0;
  };
  static void Declare(OpDef& op) {
    op.Attr(&Attrs::n, "n", "the order, from 0, which is digamma, to 100", Between(0, 100));
  }
  template <class T>
  struct F {
    kernels::Polygamma polygamma;
    explicit F(const Attrs& a) : polygamma(a.n) {}
    DYGRAPH_BOTH T operator()(T x) const { return static_cast<T>(polygamma(static_cast<double>(x))); }
  };
  static void Gradient(GradBuilder& g, RecipeRef x, RecipeRef incoming, RecipeRef result) {
    RecipeRef slope = g.Temp();
    g.Call("polygamma", {x}, {slope}).Attr("n", g.attrs<Attrs>().n + 1);
    g.Call("elementwise_mul", {slope, incoming}, {result});
  }
};

// The order 1 is what the gradient of digamma takes.
template <class T>
struct PolygammaKernel {
  static void Compute(KernelContext& ctx) {
    if constexpr (std::is_same_v<T, float>) {
      const Tensor& x = ctx.In(kX);
      if (ctx.attrs<PolygammaOfOrder::Attrs>().n == 1) {
        return kernels::Map(
            x.data<float>(), ctx.Out(kOut).mutable_data<float>(), x.numel(),
            [] DYGRAPH_FN(float v) { return kernels::TrigammaOf(v); }, 20);
      }
    }
    Kernel<PolygammaOfOrder, T>::Compute(ctx);
  }
};

REGISTER_OPERATOR(polygamma, DefineSpecial<PolygammaOfOrder>);
REGISTER_KERNELS(polygamma, PolygammaKernel, float, double);

}  // namespace
}  // namespace dygraph::activation

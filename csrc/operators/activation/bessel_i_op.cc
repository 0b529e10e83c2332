#include "operators/activation/special_activation.h"

namespace dygraph::activation {
namespace {

struct BesselOfOrder : Special {
  static constexpr int64_t kCost = 100;
  static constexpr const char* kComment =
      "Out = I_order(X), the modified Bessel function of the first kind, times exp(-|X|) with "
      "scaled; elementwise.";
  static constexpr const char* kExample =
      ">>> F.bessel_i(to_variable([0.0, 2.0]), order=2).numpy().astype(\"float64\").round(4)\n"
      "array([0.    , 0.6889])";
  struct Attrs {
    int32_t order = 0;
    bool scaled = false;
  };
  static void Declare(OpDef& op) {
    op.Attr(&Attrs::order, "order", "the order, from 0 to 16", Between(0, 16))
        .Attr(&Attrs::scaled, "scaled", "times exp(-|X|)");
  }
  template <class T>
  struct F {
    kernels::BesselI bessel;
    explicit F(const Attrs& a) : bessel(a.order, a.scaled) {}
    DYGRAPH_BOTH T operator()(T x) const { return static_cast<T>(bessel(static_cast<double>(x))); }
  };
  static void Gradient(GradBuilder& g, RecipeRef x, RecipeRef incoming, RecipeRef result) {
    const Attrs& a = g.attrs<Attrs>();
    BesselGradient(g, a.order, a.scaled, x, incoming, result);
  }
};

REGISTER_SPECIAL(bessel_i, BesselOfOrder);

}  // namespace

void BesselGradient(GradBuilder& g, int order, bool scaled, RecipeRef x, RecipeRef incoming,
                    RecipeRef result) {
  auto bessel = [&](int n) {
    if (n < 2) return g.Apply(n == 0 ? (scaled ? "i0e" : "i0") : scaled ? "i1e" : "i1", {x});
    RecipeRef t = g.Temp();
    g.Call("bessel_i", {x}, {t}).Attr("order", n).Attr("scaled", scaled);
    return t;
  };
  RecipeRef slope = bessel(1);
  if (order > 0) {
    RecipeRef sum = g.Apply("elementwise_add", {bessel(order - 1), bessel(order + 1)});
    slope = g.ApplyScale(sum, 0.5f);
  }
  if (scaled) {
    slope = g.Apply("elementwise_sub", {slope, Times(g, g.Apply("sign", {x}), bessel(order))});
  }
  g.Call("elementwise_mul", {slope, incoming}, {result});
}

}  // namespace dygraph::activation

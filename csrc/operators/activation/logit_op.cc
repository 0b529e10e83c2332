#include <limits>

#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct Logit : Elementwise {
  static constexpr const char* kComment =
      "Out = log(Z / (1 - Z)), Z = X clipped to [eps, 1 - eps], elementwise: the inverse of "
      "sigmoid. With eps = 0 nothing is clipped, and Out is NaN outside [0, 1].";
  static constexpr const char* kExample =
      ">>> [round(v, 4) for v in F.logit(to_variable([0.25, 0.5, 0.75])).tolist()]\n"
      "[-1.0986, 0.0, 1.0986]";
  static constexpr const char* kGradComment =
      "X@GRAD = Out@GRAD / (X * (1 - X)), 0 where X is clipped.";
  struct Attrs {
    double eps = 1e-6;
  };
  static void Declare(OpDef& op) {
    op.Attr(&Attrs::eps, "eps", "the margin at 0 and 1, in [0, 0.5]", Between(0, 0.5));
  }
  static constexpr bool kHot = true;
  static constexpr int64_t kCost = 8;
  template <class T>
  struct F {
    T low, high, outside;  // bounds of X, the slope beyond them
    explicit F(const Attrs& a) {
      const T inf = std::numeric_limits<T>::infinity();
      bool clips = a.eps > 0;
      low = clips ? static_cast<T>(a.eps) : -inf;
      high = clips ? T(1) - static_cast<T>(a.eps) : inf;
      outside = clips ? T(0) : std::numeric_limits<T>::quiet_NaN();
    }
    // log1p(|2z - 1| / least) with the sign of z - 1/2, least the smaller one of z and 1 - z: exact
    // to the last digits beside 1/2. A least one that has no reciprocal is scaled.
    DYGRAPH_INLINE T operator()(T x) const {
      T z = kernels::Clamp(x, low, high), from_half = z - T(0.5);
      bool below = from_half < T(0);
      T least = below ? z : T(1) - z;
      bool tiny = kernels::Abs(least) < std::numeric_limits<T>::min();
      T more = kernels::Abs(from_half) * T(2) / (tiny ? least * T(0x1p64) : least);
      T y = kernels::Log1p(more) + (tiny ? T(44.361419555836499802702855773323) : T(0));
      return below ? -y : y;
    }
    DYGRAPH_INLINE T Slope(T x) const {
      bool in = (x >= low) & (x <= high) & (x >= T(0)) & (x <= T(1));
      T slope = T(1) / (x * (T(1) - x));
      return in ? slope : x != x ? x : outside;
    }
  };
  // (1 / (x (1 - x)))' = (2x - 1) / (x (1 - x))^2: logit_grad applied twice
  static void Bend(GradBuilder& g, RecipeRef x, RecipeRef product, RecipeRef result) {
    RecipeRef once = g.Temp(), twice = g.Temp();
    g.Call("logit_grad", {x, product}, {once}).SameAttrs();
    g.Call("logit_grad", {x, once}, {twice}).SameAttrs();
    g.Call("elementwise_mul", {twice, Line(g, x, 2.0f, -1.0f)}, {result});
  }
};

REGISTER_ELEMENTWISE(logit, Logit, float, double);

}  // namespace
}  // namespace dygraph::activation

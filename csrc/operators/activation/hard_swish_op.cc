#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

struct HardSwish : Elementwise {
  static constexpr const char* kComment =
      "Out = X * min(max(X + offset, 0), threshold) / scale, elementwise.";
  static constexpr const char* kExample =
      ">>> [round(v, 4) for v in F.hard_swish(to_variable([-1.0, 1.0, 4.0])).tolist()]\n"
      "[-0.3333, 0.6667, 4.0]";
  static constexpr const char* kGradComment =
      "X@GRAD = Out@GRAD * (2 * X + offset) / scale between the bends, 0 below them, threshold / "
      "scale * Out@GRAD above.";
  static constexpr int64_t kCost = 4;
  struct Attrs {
    double threshold = 6.0;
    double scale = 6.0;
    double offset = 3.0;
  };
  static void Declare(OpDef& op) {
    op.Attr(&Attrs::threshold, "threshold", "the height at which X + offset is cut")
        .Attr(&Attrs::scale, "scale", "the divisor")
        .Attr(&Attrs::offset, "offset", "added to X before it is cut");
  }
  template <class T>
  struct F {
    T threshold, scale, offset;
    explicit F(const Attrs& a)
        : threshold(static_cast<T>(a.threshold)),
          scale(static_cast<T>(a.scale)),
          offset(static_cast<T>(a.offset)) {}
    DYGRAPH_INLINE T operator()(T x) const {
      return x * kernels::Clamp(x + offset, T(0), threshold) / scale;
    }
    DYGRAPH_INLINE T Slope(T x) const {
      T line = x + offset;
      return line <= T(0) ? T(0) : line >= threshold ? threshold / scale : (line + x) / scale;
    }
  };
  static void Bend(GradBuilder& g, RecipeRef x, RecipeRef product, RecipeRef result) {
    const Attrs& a = g.attrs<Attrs>();
    RecipeRef middle = g.Temp();  // the product between the bends
    g.Call("brelu_grad", {x, product}, {middle})
        .Attr("t_min", -a.offset)
        .Number("t_max", WorkOut([&](auto one) {
                  using T = decltype(one);
                  return static_cast<T>(a.threshold) - static_cast<T>(a.offset);
                }));
    g.Call("scale", {middle}, {result}).Number("scale", WorkOut([&](auto one) {
                                                 using T = decltype(one);
                                                 return T(2) / static_cast<T>(a.scale);
                                               }));
  }
};

REGISTER_ELEMENTWISE(hard_swish, HardSwish, float, double);

}  // namespace
}  // namespace dygraph::activation

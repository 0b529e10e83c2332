#include "kernels/activations.h"
#include "operators/activation/activation.h"

namespace dygraph::activation {
namespace {

constexpr double kDensity = 0.39894228040143267794;
constexpr double kInner = 0.79788456080286535588, kCubic = 0.044715;  // sqrt(2 / pi)

// X Phi(X) and its derivative.
struct Exact {
  template <class T>
  DYGRAPH_INLINE static T Value(T x) {
    return kernels::Gelu(x);
  }
  template <class T>
  DYGRAPH_INLINE static T Slope(T x) {
    return kernels::GeluSlope(x);
  }
};

// 0.5 (1 + tanh(u)) is sigmoid(2 u), which keeps the left tail.
struct Approximate {
  template <class T>
  DYGRAPH_INLINE static T Value(T x) {
    return kernels::Gated(x, T(2 * kInner) * (x + T(kCubic) * x * x * x));
  }
  template <class T>
  DYGRAPH_INLINE static T Slope(T x) {
    T c = kernels::Clamp(x, T(-1e6), T(1e6));  // the slope is flat long before
    T s = kernels::Sigmoid(T(2 * kInner) * (c + T(kCubic) * c * c * c));
    return s + c * s * (T(1) - s) * T(2 * kInner) * (T(1) + T(3 * kCubic) * c * c);
  }
};

struct Gelu : Elementwise {
  static constexpr const char* kComment =
      "Out = 0.5 * X * (1 + erf(X / sqrt(2))), elementwise; with approximate Out = 0.5 * X * (1 "
      "+ tanh(sqrt(2 / pi) * (X + 0.044715 * X^3))). Hendrycks and Gimpel, 2016.";
  static constexpr const char* kExample =
      ">>> [round(v, 4) for v in F.gelu(to_variable([-1.0, 0.0, 1.0])).tolist()]\n"
      "[-0.1587, 0.0, 0.8413]";
  static constexpr const char* kGradComment =
      "X@GRAD = Out@GRAD times the derivative of gelu at X.";
  static constexpr int64_t kCost = 6;
  struct Attrs {
    bool approximate = false;
  };
  static void Declare(OpDef& op) {
    op.Attr(&Attrs::approximate, "approximate", "the form with tanh");
  }
  static void Bend(GradBuilder& g, RecipeRef x, RecipeRef product, RecipeRef result) {
    RecipeRef square = g.Apply("square", {x});
    if (!g.attrs<Attrs>().approximate) {  // density(X) (2 - X^2)
      RecipeRef density = g.Apply("exp", {g.ApplyScale(square, -0.5f)});
      RecipeRef tilt = Line(g, square, -1.0f, 2.0f);
      return Finish(g, Times(g, product, density), tilt, kDensity, result);
    }
    // s (1 - s) (2 w + X (v + w^2 (1 - 2 s))) with s = sigmoid(z), w = z', v = z''
    const double inner = 2 * kInner, cubic = kCubic;
    auto times = [&](int factor) {  // factor * cubic * inner
      return WorkOut([&](auto one) {
        using T = decltype(one);
        return static_cast<T>(factor) * static_cast<T>(cubic) * static_cast<T>(inner);
      });
    };
    RecipeRef z = g.ApplyScale(Times(g, x, Line(g, square, cubic, 1.0f)), inner);
    RecipeRef s = g.Apply("sigmoid", {z}), w = Line(g, square, times(3), inner);
    RecipeRef v = g.ApplyScale(x, times(6)), curved = g.Temp();
    g.Call("sigmoid_grad", {s, product}, {curved});
    RecipeRef turn = Times(g, g.Apply("square", {w}), Line(g, s, -2.0f, 1.0f));
    RecipeRef inside = g.Apply("elementwise_add", {v, turn});
    RecipeRef sum = g.Apply("elementwise_add", {g.ApplyScale(w, 2.0f), Times(g, x, inside)});
    Finish(g, curved, sum, 1.0f, result);
  }
};

template <class T>
struct GeluKernel {
  template <class Form>
  static void Run(const Tensor& x, Tensor& out) {
    kernels::Map(
        x.data<T>(), out.mutable_data<T>(), x.numel(),
        [] DYGRAPH_FN(kernels::Wide<T> v) { return Form::Value(v); }, Gelu::kCost);
  }
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    ctx.attrs<Gelu::Attrs>().approximate ? Run<Approximate>(x, ctx.Out(kOut))
                                         : Run<Exact>(x, ctx.Out(kOut));
  }
};

template <class T>
struct GeluGradKernel {
  template <class Form>
  static void Run(const Tensor& x, const Tensor& g, Tensor& out) {
    kernels::Zip(
        x.data<T>(), g.data<T>(), out.mutable_data<T>(), x.numel(),
        [] DYGRAPH_FN(kernels::Wide<T> v, kernels::Wide<T> d) { return d * Form::Slope(v); },
        Gelu::kCost);
  }
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(grad::kGiven), &g = ctx.In(grad::kOutGrad);
    Tensor& out = ctx.Out(grad::kXGrad);
    ctx.attrs<Gelu::Attrs>().approximate ? Run<Approximate>(x, g, out) : Run<Exact>(x, g, out);
  }
};

REGISTER_ELEMENTWISE_OPERATORS(gelu, Gelu);
REGISTER_ELEMENTWISE_KERNELS(gelu, Gelu, float, double);

}  // namespace
}  // namespace dygraph::activation

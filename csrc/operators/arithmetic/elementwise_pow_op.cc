#include <cmath>

#include "kernels/power.h"
#include "kernels/value_check.h"
#include "op/gradient_call.h"
#include "op/pointwise.h"
#include "operators/arithmetic/binary.h"

namespace dygraph::elementwise {
namespace {

constexpr int64_t kPowCost = 24;

void DefinePow(OpDef& op) {
  DefineBinary(op,
               "Out = X ** Y, elementwise. Integers have no negative powers. Shapes broadcast as "
               "NumPy's; axis >= 0 lays "
               "Y along X from that axis on.")
      .Example(
          ">>> F.elementwise_pow(to_variable([2, 3]), to_variable([10, 2])).tolist()\n"
          "[1024, 9]")
      .Grad(CallGradient);
}

template <class T>
struct PowKernel {
  DYGRAPH_INLINE static T Power(T a, T b) {
    if constexpr (std::is_integral_v<T>) {  // by squaring: exact, wrapping
      uint64_t result = 1, square = static_cast<uint64_t>(a);
      for (auto n = static_cast<uint64_t>(b); n > 0; n >>= 1, square *= square)
        result *= n & 1 ? square : 1;
      return static_cast<T>(result);
    } else {
      return kernels::Pow(a, b);
    }
  }
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &y = ctx.In(kY);
    Tensor& out = ctx.Out(kOut);
    if constexpr (std::is_integral_v<T>) {
      kernels::CheckEach(
          y.data<T>(), out.numel() > 0 ? y.numel() : 0, [] DYGRAPH_FN(T e) { return e >= 0; },
          "exponents of integers must be at least 0, got % in Y. Convert X to "
          "float32");
    }
    Apply<T, T>(
        x, y, ctx.attrs<ElementwiseAttrs>().axis, &out,
        [] DYGRAPH_FN(T a, T b) { return Power(a, b); }, kPowCost);
  }
};

namespace grad {
constexpr int kX = 0, kY = 1, kOutGrad = 2, kXGrad = 0, kYGrad = 1;

// With ddX and ddY arriving for X@GRAD = sum(dOut Y P) and Y@GRAD = sum(dOut Q L), where P = X **
// (Y - 1), Q = X ** Y and L = log X: each factor gets its share, and P and Q pass theirs on through
// elementwise_pow_grad. In each call what has X's shape stands first and what has Y's second, as
// axis wants it.
void PowGradRecipe(GradBuilder& g) {
  RecipeRef x = g.Input(kX), y = g.Input(kY), dout = g.Input(kOutGrad);
  RecipeRef ddx = g.OutputGrad(kXGrad), ddy = g.OutputGrad(kYGrad);
  auto apply = [&](const char* type, RecipeRef a, RecipeRef b) {
    RecipeRef t = g.Temp();
    g.Call(type, {a, b}, {t}).SameAttrs();
    return t;
  };
  RecipeRef less = g.Temp();
  g.Call("scale", {y}, {less}).Attr("bias", -1.0f);
  RecipeRef l = g.Apply("log", {x}), p = apply("elementwise_pow", x, less),
            q = apply("elementwise_pow", x, y);
  RecipeRef ddx_p = apply("elementwise_mul", ddx, p), q_ddy = apply("elementwise_mul", q, ddy);
  g.Call("sum",
         {RecipeSlot({apply("elementwise_mul", ddx_p, y), apply("elementwise_mul", l, q_ddy)})},
         {g.InputGrad(kOutGrad)});
  RecipeRef to_p = apply("elementwise_mul", ddx, apply("elementwise_mul", dout, y));
  RecipeRef to_q = apply("elementwise_mul", l, apply("elementwise_mul", dout, ddy));
  RecipeRef x1 = g.Temp(), x2 = g.Temp(), y1 = g.Temp(), y2 = g.Temp();
  g.Call("elementwise_pow_grad", {x, less, to_p}, {x1, y1}).SameAttrs();
  g.Call("elementwise_pow_grad", {x, y, to_q}, {x2, y2}).SameAttrs();
  // elementwise_add_grad sums over what was broadcast.
  RecipeRef to_l = g.Temp(), y3 = g.Temp();
  g.Call("elementwise_add_grad",
         {g.InputShape(kX), g.InputShape(kY), apply("elementwise_mul", q_ddy, dout)}, {to_l, {}})
      .SameAttrs();
  g.Call("elementwise_add_grad",
         {g.InputShape(kX), g.InputShape(kY), apply("elementwise_mul", ddx_p, dout)}, {{}, y3})
      .SameAttrs();
  g.Call("sum", {RecipeSlot({x1, x2, g.Apply("log_grad", {x, to_l})})}, {g.InputGrad(kX)});
  g.Call("sum", {RecipeSlot({y1, y2, y3})}, {g.InputGrad(kY)});
}

void DefinePowGrad(OpDef& op) {
  op.Comment(
        "X@GRAD = Out@GRAD * Y * X ** (Y - 1), 0 where Y is; Y@GRAD = Out@GRAD * X ** Y * log(X), "
        "0 where X is 0 and Y is not "
        "negative; each summed over the axes it was broadcast along.")
      .Input(kX, "X", "the base")
      .Input(kY, "Y", "the exponent")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .Output(kYGrad, "Y@GRAD", "shape of Y")
      .AttrsOf("elementwise_pow")
      .Shape(InferGradShape)
      .KeepsLayout()
      .Grad(PowGradRecipe);
}

template <class T>
struct PowGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &y = ctx.In(kY), &g = ctx.In(kOutGrad);
    Dims y_dims = AlignY(x.dims(), y.dims(), ctx.attrs<ElementwiseAttrs>().axis);
    Tensor a = Expanded<T>(x, x.dims(), g), b = Expanded<T>(y, y_dims, g);
    // Exponents and bases are replaced, not results: no branch comes into the loops.
    auto to_x = [] DYGRAPH_FN(T d, T v, T e) {
      T slope = e == 0 ? T(0) : d * e, less = e == 0 ? T(0) : e - 1;
      return slope * kernels::Pow(v, less);
    };
    auto to_y = [] DYGRAPH_FN(T d, T v, T e) {
      T base = v != 0 ? v : e >= 0 ? T(1) : v;
      return d * kernels::Pow(base, e) * kernels::Log(base);
    };
    GradOf3<T>(g, a, b, x.dims(), ctx.OutOrNull(kXGrad), to_x, kPowCost);
    GradOf3<T>(g, a, b, y_dims, ctx.OutOrNull(kYGrad), to_y, 2 * kPowCost);
  }
};
}  // namespace grad

REGISTER_OPERATOR(elementwise_pow, DefinePow);
REGISTER_POINTWISE(elementwise_pow);
REGISTER_LOD_RULE(elementwise_pow, elementwise::KeepsRows);
REGISTER_LOD_ALSO(elementwise_pow, elementwise::kY);
REGISTER_KERNELS(elementwise_pow, PowKernel, float, double, int32_t, int64_t);
REGISTER_OPERATOR(elementwise_pow_grad, grad::DefinePowGrad);
REGISTER_POINTWISE(elementwise_pow_grad);
REGISTER_KERNELS(elementwise_pow_grad, grad::PowGradKernel, float, double);

}  // namespace
}  // namespace dygraph::elementwise

#include "kernels/complex.h"
#include "op/pointwise.h"
#include "operators/arithmetic/divisors.h"

namespace dygraph::elementwise {
namespace {

void DefineDiv(OpDef& op) {
  DefineBinary(op,
               "Out = X / Y, elementwise. Integers are divided towards zero, as Fluid does, and by "
               "zero never. Shapes "
               "broadcast as NumPy's; axis >= 0 lays Y along X from that axis on.")
      .Example(
          ">>> F.elementwise_div(to_variable([1.0, -6.0]), to_variable([4.0, 3.0])).tolist()\n"
          "[0.25, -2.0]")
      .Grad([](GradBuilder& g) {
        RecipeRef out = g.Wants(kY) ? g.Output(kOut) : RecipeRef();
        g.Call("elementwise_div_grad", {g.InputShape(kX), g.Input(kY), out, g.OutputGrad(kOut)},
               {g.InputGrad(kX), g.InputGrad(kY)})
            .SameAttrs();
      });
}

template <class T>
struct DivKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& y = ctx.In(kY);
    if constexpr (std::is_integral_v<T>) {
      if (ctx.Out(kOut).numel() > 0) CheckDivisors<T>(y);
    }
    Apply<T, T>(
        ctx.In(kX), y, ctx.attrs<ElementwiseAttrs>().axis, &ctx.Out(kOut),
        [] DYGRAPH_FN(kernels::Wide<T> a, kernels::Wide<T> b) {
          if constexpr (std::is_same_v<T, int64_t>) {  // the lowest number by -1 traps: it wraps
            return b == -1 ? static_cast<T>(-static_cast<uint64_t>(a))
                           : a / kernels::CheckedDivisor(b);
          } else if constexpr (std::is_integral_v<T>) {
            return static_cast<T>(static_cast<int64_t>(a) / kernels::CheckedDivisor(b));
          } else if constexpr (kIsComplex<T>) {
            return kernels::Quotient(a, b);
          } else {
            return a / b;
          }
        });
  }
};

namespace grad {
constexpr int kX = 0, kY = 1, kOut = 2, kOutGrad = 3, kXGrad = 0, kYGrad = 1;

void DefineDivGrad(OpDef& op) {
  op.Comment(
        "X@GRAD = Out@GRAD / Y and Y@GRAD = -Out@GRAD * Out / Y, of complex numbers with the "
        "conjugates of Y and Out, each summed over the axes it was broadcast along.")
      .Input(kX, "X", "its shape")
      .Input(kY, "Y", "the divisor")
      .Input(kOut, "Out", "the quotient, for Y@GRAD", kDispensable)
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .Output(kYGrad, "Y@GRAD", "shape of Y")
      .AttrsOf("elementwise_div")
      .Shape(InferGradShape)
      .KernelDTypeOf(kOutGrad)
      .KeepsLayout()
      .Grad([](GradBuilder& g) {
        RecipeRef ddx = g.OutputGrad(kXGrad), ddy = g.OutputGrad(kYGrad);
        // Out@GRAD@GRAD = u = (ddX - Out ddY) / Y; what comes to Y from both outputs is then
        // -Out@GRAD u / Y.
        RecipeRef u = g.Wants(kOutGrad) ? g.InputGrad(kOutGrad) : g.Temp();
        RecipeRef a = g.Temp(), c = g.Temp(), d = g.Temp(), e = g.Temp();
        g.Call("elementwise_div", {ddx, g.Input(kY)}, {a}).SameAttrs();
        g.Call("elementwise_div", {ddy, g.Input(kY)}, {c}).SameAttrs();
        g.Call("elementwise_mul", {g.Input(kOut), c}, {d}).SameAttrs();
        g.Call("sum", {RecipeSlot({a, g.ApplyScale(d, -1.0f)})}, {u});
        g.Call("elementwise_div_grad", {g.InputShape(kX), g.Input(kY), u, g.Input(kOutGrad)},
               {{}, g.InputGrad(kY)})
            .SameAttrs();
        // the product, of complex numbers with the conjugate of c
        g.Call("elementwise_mul_grad", {g.InputShape(kOutGrad), c, g.Input(kOutGrad)}, {e, {}})
            .SameAttrs();
        g.Call("scale", {e}, {g.InputGrad(kOut)}).Attr("scale", -1.0f);
      });
}

template <class T>
struct DivGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &y = ctx.In(kY), &g = ctx.In(kOutGrad);
    Dims y_aligned = AlignY(x.dims(), y.dims(), ctx.attrs<ElementwiseAttrs>().axis);
    GradOf2<T>(g, y, y_aligned, x.dims(), ctx.OutOrNull(kXGrad),
               [] DYGRAPH_FN(kernels::Wide<T> a, kernels::Wide<T> b) {
                 return kernels::Quotient(a, kernels::Conj(b));
               });
    if (Tensor* out = ctx.OutOrNull(kYGrad)) {
      GradOf3<T>(g, ctx.In(kOut), Expanded<T>(y, y_aligned, g), y_aligned, out,
                 [] DYGRAPH_FN(kernels::Wide<T> a, kernels::Wide<T> q, kernels::Wide<T> b) {
                   return kernels::Quotient(kernels::Product(-a, kernels::Conj(q)),
                                            kernels::Conj(b));
                 });
    }
  }
};
}  // namespace grad

REGISTER_OPERATOR(elementwise_div, DefineDiv);
REGISTER_POINTWISE(elementwise_div);
REGISTER_LOD_RULE(elementwise_div, elementwise::KeepsRows);
REGISTER_LOD_ALSO(elementwise_div, elementwise::kY);
REGISTER_KERNELS(elementwise_div, DivKernel, float, double, uint8_t, int8_t, int16_t, int32_t,
                 int64_t, complex64, complex128);
REGISTER_DEVICE_TYPES(elementwise_div, DivKernel, float16, bfloat16);
REGISTER_OPERATOR(elementwise_div_grad, grad::DefineDivGrad);
REGISTER_POINTWISE(elementwise_div_grad);
REGISTER_KERNELS(elementwise_div_grad, grad::DivGradKernel, float, double, complex64, complex128);
REGISTER_DEVICE_TYPES(elementwise_div_grad, grad::DivGradKernel, float16, bfloat16);

}  // namespace
}  // namespace dygraph::elementwise

#include "kernels/complex.h"
#include "kernels/integer.h"
#include "op/pointwise.h"
#include "operators/arithmetic/binary.h"

namespace dygraph::elementwise {
namespace {

void DefineMul(OpDef& op) {
  DefineBinary(op,
               "Out = X * Y, elementwise. Shapes broadcast as NumPy's; axis >= 0 lays Y along X "
               "from that axis on.")
      .Example(
          ">>> F.elementwise_mul(to_variable([2.0, 3.0]), to_variable([4.0, -5.0])).tolist()\n"
          "[8.0, -15.0]")
      // each gradient reads the other factor's values, its own factor's shape
      .Grad([](GradBuilder& g) {
        g.Call("elementwise_mul_grad",
               {g.Wants(kY) ? g.Input(kX) : g.InputShape(kX),
                g.Wants(kX) ? g.Input(kY) : g.InputShape(kY), g.OutputGrad(kOut)},
               {g.InputGrad(kX), g.InputGrad(kY)})
            .SameAttrs();
      });
}

template <class T>
struct MulKernel {
  static void Compute(KernelContext& ctx) {
    Apply<T, T>(
        ctx.In(kX), ctx.In(kY), ctx.attrs<ElementwiseAttrs>().axis, &ctx.Out(kOut),
        [] DYGRAPH_FN(kernels::Wide<T> a, kernels::Wide<T> b) { return kernels::Times(a, b); });
  }
};

namespace grad {
constexpr int kX = 0, kY = 1, kOutGrad = 2, kXGrad = 0, kYGrad = 1;

void DefineMulGrad(OpDef& op) {
  op.Comment(
        "X@GRAD = Out@GRAD * Y and Y@GRAD = Out@GRAD * X, of complex numbers with the conjugate of "
        "Y "
        "and X, each summed over the axes it was broadcast along.")
      .Input(kX, "X", "its shape; its values for Y@GRAD")
      .Input(kY, "Y", "its shape; its values for X@GRAD")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .Output(kYGrad, "Y@GRAD", "shape of Y")
      .AttrsOf("elementwise_mul")
      .Shape(InferGradShape)
      .KernelDTypeOf(kOutGrad)
      .KeepsLayout()
      .Grad([](GradBuilder& g) {
        RecipeRef ddx = g.OutputGrad(kXGrad), ddy = g.OutputGrad(kYGrad);
        RecipeRef a = g.Temp(), b = g.Temp();
        g.Call("elementwise_mul", {ddx, g.Input(kY)}, {a}).SameAttrs();
        g.Call("elementwise_mul", {g.Input(kX), ddy}, {b}).SameAttrs();
        g.Call("sum", {RecipeSlot({a, b})}, {g.InputGrad(kOutGrad)});
        g.Call("elementwise_mul_grad", {g.InputShape(kX), ddy, g.Input(kOutGrad)},
               {g.InputGrad(kX), {}})
            .SameAttrs();
        g.Call("elementwise_mul_grad", {ddx, g.InputShape(kY), g.Input(kOutGrad)},
               {{}, g.InputGrad(kY)})
            .SameAttrs();
      });
}

template <class T>
struct MulGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &y = ctx.In(kY), &g = ctx.In(kOutGrad);
    Dims y_aligned = AlignY(x.dims(), y.dims(), ctx.attrs<ElementwiseAttrs>().axis);
    auto times = [] DYGRAPH_FN(kernels::Wide<T> a, kernels::Wide<T> b) {
      return kernels::Times(a, kernels::Conj(b));
    };
    GradOf2<T>(g, y, y_aligned, x.dims(), ctx.OutOrNull(kXGrad), times);
    GradOf2<T>(g, x, x.dims(), y_aligned, ctx.OutOrNull(kYGrad), times);
  }
};
}  // namespace grad

REGISTER_OPERATOR(elementwise_mul, DefineMul);
REGISTER_POINTWISE(elementwise_mul);
REGISTER_LOD_RULE(elementwise_mul, elementwise::KeepsRows);
REGISTER_LOD_ALSO(elementwise_mul, elementwise::kY);
REGISTER_KERNELS(elementwise_mul, MulKernel, float, double, uint8_t, int8_t, int16_t, int32_t,
                 int64_t, complex64, complex128);
REGISTER_DEVICE_TYPES(elementwise_mul, MulKernel, float16, bfloat16);
REGISTER_OPERATOR(elementwise_mul_grad, grad::DefineMulGrad);
REGISTER_POINTWISE(elementwise_mul_grad);
REGISTER_KERNELS(elementwise_mul_grad, grad::MulGradKernel, float, double, complex64, complex128);
REGISTER_DEVICE_TYPES(elementwise_mul_grad, grad::MulGradKernel, float16, bfloat16);

}  // namespace
}  // namespace dygraph::elementwise

#include "kernels/elementwise.h"
#include "kernels/math.h"
#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

void DefineSqrt(OpDef& op) {
  op.Comment("Out = the square root of X, elementwise; NaN below 0.")
      .Example(
          ">>> F.sqrt(to_variable([0.0, 2.25, 9.0])).tolist()\n"
          "[0.0, 1.5, 3.0]")
      .Input(kX, "X", "any shape")
      .Output(kOut, "Out", "shape of X")
      .SameShape(kX, kOut)
      .KeepsLayout()
      .ShareLoD(kX)
      .InPlace(kX, kOut)
      .Grad([](GradBuilder& g) {
        g.Call("sqrt_grad", {g.Output(kOut), g.OutputGrad(kOut)}, {g.InputGrad(kX)});
      });
}

template <class T>
struct SqrtKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    kernels::Map(
        x.data<T>(), ctx.Out(kOut).mutable_data<T>(), x.numel(),
        [](T v) { return kernels::Sqrt(v); }, 4);
  }
};

namespace grad {
constexpr int kOut = 0, kOutGrad = 1, kXGrad = 0;

void DefineSqrtGrad(OpDef& op) {
  op.Comment("X@GRAD = Out@GRAD / (2 Out).")
      .Input(kOut, "Out", "result of sqrt")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of Out")
      .SameShape(kOutGrad, kXGrad)
      .KeepsLayout()
      .InPlace(kOutGrad, kXGrad)
      .Grad([](GradBuilder& g) {
        RecipeRef ddx = g.OutputGrad(kXGrad);
        g.Call("sqrt_grad", {g.Input(kOut), ddx}, {g.InputGrad(kOutGrad)});
        RecipeRef product = g.Apply("elementwise_mul", {ddx, g.Input(kOutGrad)});
        RecipeRef once = g.Apply("sqrt_grad", {g.Input(kOut), product});
        g.Call("elementwise_div", {g.ApplyScale(once, -1.0f), g.Input(kOut)}, {g.InputGrad(kOut)});
      });
}

template <class T>
struct SqrtGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& given = ctx.In(kOut);
    kernels::Zip(
        given.data<T>(), ctx.In(kOutGrad).data<T>(), ctx.Out(kXGrad).mutable_data<T>(),
        given.numel(), [](T v, T g) { return T(0.5) * g / v; }, 4);
  }
};
}  // namespace grad

REGISTER_OPERATOR(sqrt, DefineSqrt);
REGISTER_CPU_KERNEL(sqrt, SqrtKernel, float, double);
REGISTER_OPERATOR(sqrt_grad, grad::DefineSqrtGrad);
REGISTER_CPU_KERNEL(sqrt_grad, grad::SqrtGradKernel, float, double);

}  // namespace
}  // namespace dygraph

#include "kernels/elementwise.h"
#include "kernels/math.h"
#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

void DefineRsqrt(OpDef& op) {
  op.Comment("Out = 1 / the square root of X, elementwise; inf at 0, NaN below.")
      .Example(
          ">>> F.rsqrt(to_variable([0.25, 1.0, 4.0])).tolist()\n"
          "[2.0, 1.0, 0.5]")
      .Input(kX, "X", "any shape")
      .Output(kOut, "Out", "shape of X")
      .SameShape(kX, kOut)
      .KeepsLayout()
      .ShareLoD(kX)
      .InPlace(kX, kOut)
      .Grad([](GradBuilder& g) {
        g.Call("rsqrt_grad", {g.Output(kOut), g.OutputGrad(kOut)}, {g.InputGrad(kX)});
      });
}

template <class T>
struct RsqrtKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    kernels::Map(
        x.data<T>(), ctx.Out(kOut).mutable_data<T>(), x.numel(),
        [](T v) { return kernels::Rsqrt(v); }, 8);
  }
};

namespace grad {
constexpr int kOut = 0, kOutGrad = 1, kXGrad = 0;

void DefineRsqrtGrad(OpDef& op) {
  op.Comment("X@GRAD = -Out@GRAD * Out^3 / 2.")
      .Input(kOut, "Out", "result of rsqrt")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of Out")
      .SameShape(kOutGrad, kXGrad)
      .KeepsLayout()
      .InPlace(kOutGrad, kXGrad)
      .Grad([](GradBuilder& g) {
        RecipeRef ddx = g.OutputGrad(kXGrad);
        g.Call("rsqrt_grad", {g.Input(kOut), ddx}, {g.InputGrad(kOutGrad)});
        RecipeRef product = g.Apply("elementwise_mul", {ddx, g.Input(kOutGrad)});
        g.Call("elementwise_mul",
               {g.ApplyScale(product, -1.5f), g.Apply("square", {g.Input(kOut)})},
               {g.InputGrad(kOut)});
      });
}

template <class T>
struct RsqrtGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& given = ctx.In(kOut);
    kernels::Zip(given.data<T>(), ctx.In(kOutGrad).data<T>(), ctx.Out(kXGrad).mutable_data<T>(),
                 given.numel(), [](T v, T g) { return T(-0.5) * g * v * v * v; });
  }
};
}  // namespace grad

REGISTER_OPERATOR(rsqrt, DefineRsqrt);
REGISTER_CPU_KERNEL(rsqrt, RsqrtKernel, float, double);
REGISTER_OPERATOR(rsqrt_grad, grad::DefineRsqrtGrad);
REGISTER_CPU_KERNEL(rsqrt_grad, grad::RsqrtGradKernel, float, double);

}  // namespace
}  // namespace dygraph

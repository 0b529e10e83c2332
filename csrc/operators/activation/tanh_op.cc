#include "kernels/elementwise.h"
#include "kernels/math.h"
#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

void DefineTanh(OpDef& op) {
  op.Comment("Out = tanh(X), elementwise.")
      .Example(
          ">>> [round(v, 4) for v in F.tanh(to_variable([-1.0, 0.0, 1.0])).tolist()]\n"
          "[-0.7616, 0.0, 0.7616]")
      .Input(kX, "X", "any shape")
      .Output(kOut, "Out", "shape of X")
      .SameShape(kX, kOut)
      .KeepsLayout()
      .ShareLoD(kX)
      .InPlace(kX, kOut)
      .Grad([](GradBuilder& g) {
        g.Call("tanh_grad", {g.Output(kOut), g.OutputGrad(kOut)}, {g.InputGrad(kX)});
      });
}

template <class T>
struct TanhKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    kernels::Map(
        x.data<T>(), ctx.Out(kOut).mutable_data<T>(), x.numel(),
        [](T v) { return kernels::Tanh(v); }, 4);
  }
};

namespace grad {
constexpr int kOut = 0, kOutGrad = 1, kXGrad = 0;

void DefineTanhGrad(OpDef& op) {
  op.Comment("X@GRAD = Out@GRAD * (1 - Out^2).")
      .Input(kOut, "Out", "result of tanh")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of Out")
      .SameShape(kOutGrad, kXGrad)
      .KeepsLayout()
      .InPlace(kOutGrad, kXGrad)
      .Grad([](GradBuilder& g) {
        RecipeRef ddx = g.OutputGrad(kXGrad);
        g.Call("tanh_grad", {g.Input(kOut), ddx}, {g.InputGrad(kOutGrad)});
        RecipeRef product = g.Apply("elementwise_mul", {ddx, g.Input(kOutGrad)});
        g.Call("elementwise_mul", {product, g.ApplyScale(g.Input(kOut), -2.0f)},
               {g.InputGrad(kOut)});
      });
}

template <class T>
struct TanhGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& given = ctx.In(kOut);
    kernels::Zip(given.data<T>(), ctx.In(kOutGrad).data<T>(), ctx.Out(kXGrad).mutable_data<T>(),
                 given.numel(), [](T v, T g) { return g * (T(1) - v * v); });
  }
};
}  // namespace grad

REGISTER_OPERATOR(tanh, DefineTanh);
REGISTER_CPU_KERNEL(tanh, TanhKernel, float, double);
REGISTER_OPERATOR(tanh_grad, grad::DefineTanhGrad);
REGISTER_CPU_KERNEL(tanh_grad, grad::TanhGradKernel, float, double);

}  // namespace
}  // namespace dygraph

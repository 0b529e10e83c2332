#include "kernels/elementwise.h"
#include "kernels/math.h"
#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

void DefineSigmoid(OpDef& op) {
  op.Comment("Out = 1 / (1 + exp(-X)), elementwise.")
      .Example(
          ">>> [round(v, 4) for v in F.sigmoid(to_variable([-1.0, 0.0, 1.0])).tolist()]\n"
          "[0.2689, 0.5, 0.7311]")
      .Input(kX, "X", "any shape")
      .Output(kOut, "Out", "shape of X")
      .SameShape(kX, kOut)
      .KeepsLayout()
      .ShareLoD(kX)
      .InPlace(kX, kOut)
      .Grad([](GradBuilder& g) {
        g.Call("sigmoid_grad", {g.Output(kOut), g.OutputGrad(kOut)}, {g.InputGrad(kX)});
      });
}

template <class T>
struct SigmoidKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    kernels::Map(
        x.data<T>(), ctx.Out(kOut).mutable_data<T>(), x.numel(),
        [](T v) { return kernels::Sigmoid(v); }, 3);
  }
};

namespace grad {
constexpr int kOut = 0, kOutGrad = 1, kXGrad = 0;

void DefineSigmoidGrad(OpDef& op) {
  op.Comment("X@GRAD = Out@GRAD * Out * (1 - Out).")
      .Input(kOut, "Out", "result of sigmoid")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of Out")
      .SameShape(kOutGrad, kXGrad)
      .KeepsLayout()
      .InPlace(kOutGrad, kXGrad)
      .Grad([](GradBuilder& g) {
        RecipeRef ddx = g.OutputGrad(kXGrad);
        g.Call("sigmoid_grad", {g.Input(kOut), ddx}, {g.InputGrad(kOutGrad)});
        RecipeRef product = g.Apply("elementwise_mul", {ddx, g.Input(kOutGrad)});
        RecipeRef slope = g.Temp();  // 1 - 2 Out
        g.Call("scale", {g.Input(kOut)}, {slope}).Attr("scale", -2.0f).Attr("bias", 1.0f);
        g.Call("elementwise_mul", {product, slope}, {g.InputGrad(kOut)});
      });
}

template <class T>
struct SigmoidGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& given = ctx.In(kOut);
    kernels::Zip(given.data<T>(), ctx.In(kOutGrad).data<T>(), ctx.Out(kXGrad).mutable_data<T>(),
                 given.numel(), [](T v, T g) { return g * v * (T(1) - v); });
  }
};
}  // namespace grad

REGISTER_OPERATOR(sigmoid, DefineSigmoid);
REGISTER_CPU_KERNEL(sigmoid, SigmoidKernel, float, double);
REGISTER_OPERATOR(sigmoid_grad, grad::DefineSigmoidGrad);
REGISTER_CPU_KERNEL(sigmoid_grad, grad::SigmoidGradKernel, float, double);

}  // namespace
}  // namespace dygraph

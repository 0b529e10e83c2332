#include "kernels/math.h"
#include "operators/activation/float_of_integers.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

void DefineExp(OpDef& op) {
  op.Comment("Out = e^X, elementwise.")
      .Example(
          ">>> [round(v, 4) for v in F.exp(to_variable([-1.0, 0.0, 1.0])).tolist()]\n"
          "[0.3679, 1.0, 2.7183]")
      .Input(kX, "X", "any shape")
      .Output(kOut, "Out", "shape of X; float32 of integers")
      .Shape(InferFloat)
      .KeepsLayout()
      .ShareLoD(kX)
      .InPlace(kX, kOut)
      .Grad([](GradBuilder& g) {
        g.Call("exp_grad", {g.Output(kOut), g.OutputGrad(kOut)}, {g.InputGrad(kX)});
      });
}

template <class T>
struct ExpKernel {
  static void Compute(KernelContext& ctx) {
    MapFloat<T>(ctx, 3, [](FloatOf<T> v) { return kernels::Exp(v); });
  }
};

namespace grad {
constexpr int kOut = 0, kOutGrad = 1, kXGrad = 0;

void DefineExpGrad(OpDef& op) {
  op.Comment("X@GRAD = Out@GRAD * Out.")
      .Input(kOut, "Out", "result of exp")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of Out")
      .SameShape(kOutGrad, kXGrad)
      .KeepsLayout()
      .InPlace(kOutGrad, kXGrad)
      .Grad([](GradBuilder& g) {
        RecipeRef ddx = g.OutputGrad(kXGrad);
        g.Call("exp_grad", {g.Input(kOut), ddx}, {g.InputGrad(kOutGrad)});
        g.Call("elementwise_mul", {ddx, g.Input(kOutGrad)}, {g.InputGrad(kOut)});
      });
}

template <class T>
struct ExpGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& given = ctx.In(kOut);
    kernels::Zip(given.data<T>(), ctx.In(kOutGrad).data<T>(), ctx.Out(kXGrad).mutable_data<T>(),
                 given.numel(), [](T v, T g) { return g * v; });
  }
};
}  // namespace grad

REGISTER_OPERATOR(exp, DefineExp);
REGISTER_CPU_KERNEL(exp, ExpKernel, float, double, int32_t, int64_t);
REGISTER_OPERATOR(exp_grad, grad::DefineExpGrad);
REGISTER_CPU_KERNEL(exp_grad, grad::ExpGradKernel, float, double);

}  // namespace
}  // namespace dygraph

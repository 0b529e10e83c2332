#include "kernels/math.h"
#include "operators/activation/float_of_integers.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

void DefineLog(OpDef& op) {
  op.Comment("Out = the natural logarithm of X, elementwise; -inf at 0, NaN below.")
      .Example(
          ">>> [round(v, 4) for v in F.log(to_variable([1.0, 2.0, np.e])).tolist()]\n"
          "[0.0, 0.6931, 1.0]")
      .Input(kX, "X", "any shape")
      .Output(kOut, "Out", "shape of X; float32 of integers")
      .Shape(InferFloat)
      .KeepsLayout()
      .ShareLoD(kX)
      .InPlace(kX, kOut)
      .Grad([](GradBuilder& g) {
        g.Call("log_grad", {g.Input(kX), g.OutputGrad(kOut)}, {g.InputGrad(kX)});
      });
}

template <class T>
struct LogKernel {
  static void Compute(KernelContext& ctx) {
    MapFloat<T>(ctx, 4, [](FloatOf<T> v) { return kernels::Log(v); });
  }
};

namespace grad {
constexpr int kX = 0, kOutGrad = 1, kXGrad = 0;

void DefineLogGrad(OpDef& op) {
  op.Comment("X@GRAD = Out@GRAD / X.")
      .Input(kX, "X", "input of log")
      .Input(kOutGrad, "Out@GRAD", "shape of X")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .SameShape(kOutGrad, kXGrad)
      .KeepsLayout()
      .InPlace(kOutGrad, kXGrad)
      .Grad([](GradBuilder& g) {
        RecipeRef ddx = g.OutputGrad(kXGrad);
        g.Call("log_grad", {g.Input(kX), ddx}, {g.InputGrad(kOutGrad)});
        RecipeRef product = g.Apply("elementwise_mul", {ddx, g.Input(kOutGrad)});
        RecipeRef once = g.Apply("log_grad", {g.Input(kX), product});
        g.Call("scale", {g.Apply("log_grad", {g.Input(kX), once})}, {g.InputGrad(kX)})
            .Attr("scale", -1.0f);
      });
}

template <class T>
struct LogGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& given = ctx.In(kX);
    kernels::Zip(
        given.data<T>(), ctx.In(kOutGrad).data<T>(), ctx.Out(kXGrad).mutable_data<T>(),
        given.numel(), [](T v, T g) { return g / v; }, 4);
  }
};
}  // namespace grad

REGISTER_OPERATOR(log, DefineLog);
REGISTER_CPU_KERNEL(log, LogKernel, float, double, int32_t, int64_t);
REGISTER_OPERATOR(log_grad, grad::DefineLogGrad);
REGISTER_CPU_KERNEL(log_grad, grad::LogGradKernel, float, double);

}  // namespace
}  // namespace dygraph

#include "kernels/elementwise.h"
#include "kernels/integer.h"
#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

void DefineSquare(OpDef& op) {
  op.Comment("Out = X^2, elementwise.")
      .Example(
          ">>> F.square(to_variable([-3.0, 0.5])).tolist()\n"
          "[9.0, 0.25]")
      .Input(kX, "X", "any shape")
      .Output(kOut, "Out", "shape of X")
      .SameShape(kX, kOut)
      .KeepsLayout()
      .ShareLoD(kX)
      .InPlace(kX, kOut)
      .Grad([](GradBuilder& g) {
        g.Call("square_grad", {g.Input(kX), g.OutputGrad(kOut)}, {g.InputGrad(kX)});
      });
}

template <class T>
struct SquareKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    kernels::Map(x.data<T>(), ctx.Out(kOut).mutable_data<T>(), x.numel(),
                 [](T v) { return kernels::Times(v, v); });
  }
};

namespace grad {
constexpr int kX = 0, kOutGrad = 1, kXGrad = 0;

void DefineSquareGrad(OpDef& op) {
  op.Comment("X@GRAD = 2 X * Out@GRAD.")
      .Input(kX, "X", "input of square")
      .Input(kOutGrad, "Out@GRAD", "shape of X")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .SameShape(kOutGrad, kXGrad)
      .KeepsLayout()
      .InPlace(kOutGrad, kXGrad)
      .Grad([](GradBuilder& g) {
        RecipeRef ddx = g.OutputGrad(kXGrad);
        g.Call("square_grad", {g.Input(kX), ddx}, {g.InputGrad(kOutGrad)});
        RecipeRef product = g.Apply("elementwise_mul", {ddx, g.Input(kOutGrad)});
        g.Call("scale", {product}, {g.InputGrad(kX)}).Attr("scale", 2.0f);
      });
}

template <class T>
struct SquareGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& given = ctx.In(kX);
    kernels::Zip(given.data<T>(), ctx.In(kOutGrad).data<T>(), ctx.Out(kXGrad).mutable_data<T>(),
                 given.numel(), [](T v, T g) { return T(2) * v * g; });
  }
};
}  // namespace grad

REGISTER_OPERATOR(square, DefineSquare);
REGISTER_CPU_KERNEL(square, SquareKernel, float, double, int32_t, int64_t);
REGISTER_OPERATOR(square_grad, grad::DefineSquareGrad);
REGISTER_CPU_KERNEL(square_grad, grad::SquareGradKernel, float, double);

}  // namespace
}  // namespace dygraph

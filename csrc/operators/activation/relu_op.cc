#include "kernels/elementwise.h"
#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

void DefineRelu(OpDef& op) {
  op.Comment("Out = max(X, 0), elementwise. Its gradient is Out@GRAD where Out > 0, and 0 at 0.")
      .Example(">>> F.relu(to_variable([-1.0, 0.0, 2.0])).tolist()\n"
               "[0.0, 0.0, 2.0]")
      .Input(kX, "X", "any shape")
      .Output(kOut, "Out", "shape of X")
      .SameShape(kX, kOut)
      .KeepsLayout()
      .ShareLoD(kX)
      .InPlace(kX, kOut)
      .Grad([](GradBuilder& g) {
        g.Call("relu_grad", {g.Output(kOut), g.OutputGrad(kOut)}, {g.InputGrad(kX)});
      });
}

template <class T>
struct ReluKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    kernels::Map(x.data<T>(), ctx.Out(kOut).mutable_data<T>(), x.numel(),
                 [](T v) { return v > T(0) || v != v ? v : T(0); });  // a NaN passes
  }
};

namespace grad {
constexpr int kOut = 0, kOutGrad = 1, kXGrad = 0;

void DefineReluGrad(OpDef& op) {
  op.Comment("X@GRAD = Out@GRAD where Out > 0, else 0.")
      .Input(kOut, "Out", "result of relu")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of Out")
      .SameShape(kOutGrad, kXGrad)
      .KeepsLayout()
      .InPlace(kOutGrad, kXGrad)
      .Grad([](GradBuilder& g) {  // linear in Out@GRAD; flat in Out
        g.Call("relu_grad", {g.Input(kOut), g.OutputGrad(kXGrad)}, {g.InputGrad(kOutGrad)});
      });
}

template <class T>
struct ReluGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& out = ctx.In(kOut);
    kernels::Zip(out.data<T>(), ctx.In(kOutGrad).data<T>(), ctx.Out(kXGrad).mutable_data<T>(),
                 out.numel(), [](T y, T g) { return y > T(0) ? g : T(0); });
  }
};
}  // namespace grad

REGISTER_OPERATOR(relu, DefineRelu);
REGISTER_CPU_KERNEL(relu, ReluKernel, float, double, int32_t, int64_t);
REGISTER_OPERATOR(relu_grad, grad::DefineReluGrad);
REGISTER_CPU_KERNEL(relu_grad, grad::ReluGradKernel, float, double);

}  // namespace
}  // namespace dygraph

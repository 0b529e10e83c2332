#include "kernels/elementwise.h"
#include "kernels/math.h"
#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

void DefineAbs(OpDef& op) {
  op.Comment("Out = |X|, elementwise.")
      .Example(
          ">>> F.abs(to_variable([-2.0, 0.0, 3.0])).tolist()\n"
          "[2.0, 0.0, 3.0]")
      .Input(kX, "X", "any shape")
      .Output(kOut, "Out", "shape of X")
      .SameShape(kX, kOut)
      .KeepsLayout()
      .ShareLoD(kX)
      .InPlace(kX, kOut)
      .Grad([](GradBuilder& g) {
        g.Call("abs_grad", {g.Input(kX), g.OutputGrad(kOut)}, {g.InputGrad(kX)});
      });
}

template <class T>
DYGRAPH_INLINE T Magnitude(T v) {
  if constexpr (std::is_integral_v<T>) {  // the lowest number has no magnitude: it wraps
    return v < 0 ? static_cast<T>(-static_cast<std::make_unsigned_t<T>>(v)) : v;
  } else {
    return kernels::Abs(v);
  }
}

template <class T>
struct AbsKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    kernels::Map(x.data<T>(), ctx.Out(kOut).mutable_data<T>(), x.numel(),
                 [](T v) { return Magnitude(v); });
  }
};

namespace grad {
constexpr int kX = 0, kOutGrad = 1, kXGrad = 0;

void DefineAbsGrad(OpDef& op) {
  op.Comment("X@GRAD = Out@GRAD * sign(X), 0 at 0.")
      .Input(kX, "X", "input of abs")
      .Input(kOutGrad, "Out@GRAD", "shape of X")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .SameShape(kOutGrad, kXGrad)
      .KeepsLayout()
      .InPlace(kOutGrad, kXGrad)
      .Grad([](GradBuilder& g) {  // linear in Out@GRAD; flat in X
        g.Call("abs_grad", {g.Input(kX), g.OutputGrad(kXGrad)}, {g.InputGrad(kOutGrad)});
      });
}

template <class T>
struct AbsGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& given = ctx.In(kX);
    kernels::Zip(given.data<T>(), ctx.In(kOutGrad).data<T>(), ctx.Out(kXGrad).mutable_data<T>(),
                 given.numel(), [](T v, T g) { return v > T(0)   ? g
                                                      : v < T(0) ? -g
                                                                 : v * g; });
  }
};
}  // namespace grad

REGISTER_OPERATOR(abs, DefineAbs);
REGISTER_CPU_KERNEL(abs, AbsKernel, float, double, int32_t, int64_t);
REGISTER_OPERATOR(abs_grad, grad::DefineAbsGrad);
REGISTER_CPU_KERNEL(abs_grad, grad::AbsGradKernel, float, double);

}  // namespace
}  // namespace dygraph

// What elementwise_max, _min, _fmax and _fmin share. A policy says which of two numbers is chosen:
// First(x, y) is true where it is X, and so are ties and a NaN in X. REGISTER_EXTREME registers the
// operator, its gradient and the gradient of that; the policy names the operators as kType,
// kGradType and kGradGradType, and says kComment and kExample.
#pragma once

#include "kernels/loops.h"
#include "op/gradient_call.h"
#include "op/op_registry.h"
#include "op/pointwise.h"
#include "operators/arithmetic/binary.h"

namespace dygraph::elementwise {

template <class Choice>
void DefineExtreme(OpDef& op) {
  DefineBinary(op, Choice::kComment).Example(Choice::kExample).Grad(CallGradient);
}

template <class Choice, class T>
struct ExtremeKernel {
  static void Compute(KernelContext& ctx) {
    Apply<T, T>(ctx.In(kX), ctx.In(kY), ctx.attrs<ElementwiseAttrs>().axis, &ctx.Out(kOut),
                [] DYGRAPH_FN(T a, T b) { return Choice::First(a, b) ? a : b; });
  }
};

namespace extreme_grad {
constexpr int kX = 0, kY = 1, kOutGrad = 2, kXGrad = 0, kYGrad = 1;

template <class Choice>
void Define(OpDef& op) {
  op.Comment(
        "Out@GRAD goes to X where Out is X, to Y elsewhere, summed over the axes along which it "
        "was broadcast.")
      .Input(kX, "X", "first operand")
      .Input(kY, "Y", "second operand")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .Output(kYGrad, "Y@GRAD", "shape of Y")
      .AttrsOf(Choice::kType)
      .Shape(InferGradShape)
      .KeepsLayout()
      // a choice of elements: linear in Out@GRAD, flat in X and Y
      .Grad([](GradBuilder& g) {
        g.Call(Choice::kGradGradType,
               {g.Input(kX), g.Input(kY), g.InputShape(kOutGrad), g.OutputGrad(kXGrad),
                g.OutputGrad(kYGrad)},
               {g.InputGrad(kOutGrad)})
            .SameAttrs();
      });
}

template <class Choice, class T>
struct Kernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &y = ctx.In(kY), &g = ctx.In(kOutGrad);
    Dims y_dims = AlignY(x.dims(), y.dims(), ctx.attrs<ElementwiseAttrs>().axis);
    Tensor a = Expanded<T>(x, x.dims(), g), b = Expanded<T>(y, y_dims, g);
    GradOf3<T>(g, a, b, x.dims(), ctx.OutOrNull(kXGrad),
               [] DYGRAPH_FN(T d, T v, T w) { return Choice::First(v, w) ? d : T(0); });
    GradOf3<T>(g, a, b, y_dims, ctx.OutOrNull(kYGrad),
               [] DYGRAPH_FN(T d, T v, T w) { return Choice::First(v, w) ? T(0) : d; });
  }
};
}  // namespace extreme_grad

namespace extreme_grad_grad {
constexpr int kX = 0, kY = 1, kOutGrad = 2, kXGradGrad = 3, kYGradGrad = 4, kOutGradGrad = 0;

template <class Choice>
void Define(OpDef& op) {
  op.Comment(
        "Out@GRAD@GRAD = X@GRAD@GRAD where Out is X, Y@GRAD@GRAD elsewhere, an absent one being "
        "zero.")
      .Input(kX, "X", "first operand")
      .Input(kY, "Y", "second operand")
      .Input(kOutGrad, "Out@GRAD", "its shape")
      .Input(kXGradGrad, "X@GRAD@GRAD", "shape of X", kDispensable)
      .Input(kYGradGrad, "Y@GRAD@GRAD", "shape of Y", kDispensable)
      .Output(kOutGradGrad, "Out@GRAD@GRAD", "shape of Out")
      .AttrsOf(Choice::kType)
      .SameShape(kOutGrad, kOutGradGrad)
      .KeepsLayout()
      .Grad([](GradBuilder& g) {
        g.Call(Choice::kGradType, {g.Input(kX), g.Input(kY), g.OutputGrad(kOutGradGrad)},
               {g.InputGrad(kXGradGrad), g.InputGrad(kYGradGrad)})
            .SameAttrs();
      });
}

template <class Choice, class T>
struct Kernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &y = ctx.In(kY);
    Tensor& out = ctx.Out(kOutGradGrad);
    Dims y_dims = AlignY(x.dims(), y.dims(), ctx.attrs<ElementwiseAttrs>().axis);
    Tensor a = Expanded<T>(x, x.dims(), out), b = Expanded<T>(y, y_dims, out);
    T* to = out.mutable_data<T>();
    kernels::Fill(to, out.numel(), T(0));
    auto choose = [&](const Tensor* t, const Dims& aligned, bool first) {
      if (!t) return;
      Tensor full = Expanded<T>(*t, aligned, out);
      const T *v = a.data<T>(), *w = b.data<T>(), *from = full.data<T>();
      kernels::ForEach(out.numel(), [=] DYGRAPH_FN(int64_t i) {
        to[i] = Choice::First(v[i], w[i]) == first ? from[i] : to[i];
      });
    };
    choose(ctx.InOrNull(kXGradGrad), x.dims(), true);
    choose(ctx.InOrNull(kYGradGrad), y_dims, false);
  }
};
}  // namespace extreme_grad_grad

}  // namespace dygraph::elementwise

#define REGISTER_EXTREME(type, Choice)                                           \
  struct Choice##Named : Choice {                                                \
    static constexpr const char *kType = #type, *kGradType = #type "_grad",      \
                                *kGradGradType = #type "_grad_grad";             \
  };                                                                             \
  template <class T>                                                             \
  using Choice##Kernel = ExtremeKernel<Choice, T>;                               \
  template <class T>                                                             \
  using Choice##GradKernel = extreme_grad::Kernel<Choice, T>;                    \
  template <class T>                                                             \
  using Choice##GradGradKernel = extreme_grad_grad::Kernel<Choice, T>;           \
  REGISTER_OPERATOR(type, DefineExtreme<Choice##Named>);                         \
  REGISTER_POINTWISE(type);                                                      \
  REGISTER_LOD_RULE(type, KeepsRows);                                            \
  REGISTER_LOD_ALSO(type, kY);                                                   \
  REGISTER_KERNELS(type, Choice##Kernel, float, double, int32_t, int64_t);       \
  REGISTER_OPERATOR(type##_grad, extreme_grad::Define<Choice##Named>);           \
  REGISTER_POINTWISE(type##_grad);                                               \
  REGISTER_KERNELS(type##_grad, Choice##GradKernel, float, double);              \
  REGISTER_OPERATOR(type##_grad_grad, extreme_grad_grad::Define<Choice##Named>); \
  REGISTER_KERNELS(type##_grad_grad, Choice##GradGradKernel, float, double)

// What elementwise_max and elementwise_min share. A policy says which of two numbers is chosen:
// First(x, y) is true where it is X, and so are ties and a NaN in X.
#pragma once

#include "operators/arithmetic/binary.h"

namespace dygraph::elementwise {

template <class Choice, class T>
struct ExtremeKernel {
  static void Compute(KernelContext& ctx) {
    Apply<T, T>(ctx.In(kX), ctx.In(kY), ctx.attrs<ElementwiseAttrs>().axis, &ctx.Out(kOut),
                [](T a, T b) { return Choice::First(a, b) ? a : b; });
  }
};

namespace extreme_grad {
constexpr int kX = 0, kY = 1, kOutGrad = 2, kXGrad = 0, kYGrad = 1;

inline OpDef& Define(OpDef& op, const char* forward) {
  return op
      .Comment(
          "Out@GRAD goes to X where Out is X, to Y elsewhere, summed over the axes along which it "
          "was broadcast.")
      .Input(kX, "X", "first operand")
      .Input(kY, "Y", "second operand")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .Output(kYGrad, "Y@GRAD", "shape of Y")
      .AttrsOf(forward)
      .Shape(InferGradShape)
      .KeepsLayout();
}

template <class Choice, class T>
struct Kernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &y = ctx.In(kY), &g = ctx.In(kOutGrad);
    Dims y_dims = AlignY(x.dims(), y.dims(), ctx.attrs<ElementwiseAttrs>().axis);
    Tensor a = Expanded<T>(x, x.dims(), g), b = Expanded<T>(y, y_dims, g);
    GradOf3<T>(g, a, b, x.dims(), ctx.OutOrNull(kXGrad),
               [](T d, T v, T w) { return Choice::First(v, w) ? d : T(0); });
    GradOf3<T>(g, a, b, y_dims, ctx.OutOrNull(kYGrad),
               [](T d, T v, T w) { return Choice::First(v, w) ? T(0) : d; });
  }
};
}  // namespace extreme_grad

namespace extreme_grad_grad {
constexpr int kX = 0, kY = 1, kOutGrad = 2, kXGradGrad = 3, kYGradGrad = 4, kOutGradGrad = 0;

inline OpDef& Define(OpDef& op, const char* forward) {
  return op
      .Comment(
          "Out@GRAD@GRAD = X@GRAD@GRAD where Out is X, Y@GRAD@GRAD elsewhere, an absent one being "
          "zero.")
      .Input(kX, "X", "first operand")
      .Input(kY, "Y", "second operand")
      .Input(kOutGrad, "Out@GRAD", "its shape")
      .Input(kXGradGrad, "X@GRAD@GRAD", "shape of X", kDispensable)
      .Input(kYGradGrad, "Y@GRAD@GRAD", "shape of Y", kDispensable)
      .Output(kOutGradGrad, "Out@GRAD@GRAD", "shape of Out")
      .AttrsOf(forward)
      .SameShape(kOutGrad, kOutGradGrad)
      .KeepsLayout();
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
      for (int64_t i = 0; i < out.numel(); ++i)
        to[i] = Choice::First(v[i], w[i]) == first ? from[i] : to[i];
    };
    choose(ctx.InOrNull(kXGradGrad), x.dims(), true);
    choose(ctx.InOrNull(kYGradGrad), y_dims, false);
  }
};
}  // namespace extreme_grad_grad

}  // namespace dygraph::elementwise

// Gradients of reduce_max and reduce_min: both go to the first element that equals the result.
#pragma once

#include "operators/reduce/reduction.h"

namespace dygraph::reduce {

// An extreme of nothing does not exist.
template <template <class> class Op, class T>
void ComputeExtreme(KernelContext& ctx) {
  const Tensor& x = ctx.In(kX);
  ENFORCE(ctx.Out(kOut).numel() == 0 || x.numel() > 0, InvalidArgument,
          "the reduced axes must not be empty, got X of shape ", x.dims());
  Compute<Op, float, double, int32_t, int64_t>(ctx);
}

// Calls f(position in Out, position in X) for each result and its first element of that value.
template <class T, class F>
void ForEachFirst(const Tensor& x, const Tensor& out, const ReduceAttrs& a, F f) {
  if (x.numel() == 0) return;
  const T *values = x.data<T>(), *results = out.data<T>();
  ForEachResult(x.dims(), Axes(x.rank(), a),
                [=] DYGRAPH_FN(int64_t o, int64_t first, const Elements& elements,
                               kernels::Team team) {
                  const T wanted = results[o];
                  const Elements* at = &elements;
                  const int64_t i = kernels::First(team, elements.count, [=](int64_t j) {
                    const T v = values[first + (*at)[j]];
                    return v == wanted || (v != v && wanted != wanted);
                  });
                  if (i < elements.count) team.Once([=] { f(o, first + (*at)[i]); });
                });
}

namespace extreme_grad {
constexpr int kX = 0, kOut = 1, kOutGrad = 2, kXGrad = 0;

template <class T>
struct Kernel {
  static void Compute(KernelContext& ctx) {
    Tensor& out = ctx.Out(kXGrad);
    T* to = out.mutable_data<T>();
    kernels::Fill(to, out.numel(), T(0));
    Tensor g = CastTo(ctx.In(kOutGrad), out.dtype());
    const T* from = g.data<T>();
    ForEachFirst<T>(ctx.In(kX), CastTo(ctx.In(kOut), out.dtype()), ctx.attrs<ReduceAttrs>(),
                    [=] DYGRAPH_FN(int64_t o, int64_t x) { to[x] = from[o]; });
  }
};

inline OpDef& Define(OpDef& op, const char* forward) {
  return op.Comment("X@GRAD = Out@GRAD at the first element of X that equals Out, 0 elsewhere.")
      .Input(kX, "X", "input of the reduction")
      .Input(kOut, "Out", "its result")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf(forward)
      .SameShape(kX, kXGrad)
      .MixedDTypes();
}
}  // namespace extreme_grad

namespace extreme_grad_grad {
constexpr int kX = 0, kOut = 1, kXGradGrad = 2, kOutGradGrad = 0;

template <class T>
struct Kernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    Tensor& out = ctx.Out(kOutGradGrad);
    Tensor picked(out.dims(), x.dtype(), x.place());
    T* to = picked.mutable_data<T>();
    const T* from = ctx.In(kXGradGrad).data<T>();
    ForEachFirst<T>(x, CastTo(ctx.In(kOut), x.dtype()), ctx.attrs<ReduceAttrs>(),
                    [=] DYGRAPH_FN(int64_t o, int64_t i) { to[o] = from[i]; });
    kernels::Cast(x.dtype(), to, out.dtype(), out.mutable_raw_data(), out.numel());
  }
};

inline OpDef& Define(OpDef& op, const char* forward) {
  return op.Comment("Out@GRAD@GRAD = X@GRAD@GRAD at the first element of X that equals Out.")
      .Input(kX, "X", "input of the reduction")
      .Input(kOut, "Out", "its result")
      .Input(kXGradGrad, "X@GRAD@GRAD", "shape of X")
      .Output(kOutGradGrad, "Out@GRAD@GRAD", "shape of Out")
      .AttrsOf(forward)
      .SameShape(kOut, kOutGradGrad)
      .MixedDTypes();
}
}  // namespace extreme_grad_grad

}  // namespace dygraph::reduce

#include <cmath>
#include <limits>

#include "op/gradient_call.h"
#include "op/lod_rule.h"
#include "operators/arithmetic/cumulative.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

struct LogcumsumexpAttrs {
  int32_t axis = -1;
  bool flatten = false;
  bool exclusive = false;
  bool reverse = false;
};

// The lines of X in the direction of the sums: element i of the line at `first` is first + i *
// step.
struct Direction {
  cumulative::Lines lines;
  int64_t step;
  DYGRAPH_INLINE int64_t Start(int64_t first) const {
    return step > 0 ? first : first - (lines.n - 1) * step;
  }
};

Direction DirectionOf(const Dims& x, const LogcumsumexpAttrs& a) {
  Direction d;
  if (a.flatten) {
    d.lines.n = Numel(x);
  } else {
    d.lines = cumulative::Along(x, a.axis);
  }
  d.step = a.reverse ? -d.lines.inner : d.lines.inner;
  return d;
}

// exp(a - b) of a <= b, where both may be infinite.
template <class T>
DYGRAPH_INLINE T Ratio(T a, T b) {
  if (a == -std::numeric_limits<T>::infinity()) return T(0);
  return a == b ? T(1) : std::exp(a - b);
}

Dims OutDims(InferContext& ctx) {
  const Dims& x = ctx.dims(kX);
  const auto& a = ctx.attrs<LogcumsumexpAttrs>();
  if (a.flatten) return {x.HasUnknown() ? -1 : Numel(x)};
  NormalizeAxis(a.axis, std::max(x.rank(), 1));
  return x;
}

void DefineLogcumsumexp(OpDef& op) {
  op.Comment(
        "Out[i] = log(exp(X[0]) + ... + exp(X[i])) along an axis, without overflow on the way; "
        "exclusive leaves X[i] out, reverse sums from the end.")
      .Example(
          ">>> x = to_variable([0.0, 0.0, 1000.0])\n"
          ">>> [round(v, 4) for v in F.logcumsumexp(x).tolist()]\n"
          "[0.0, 0.6931, 1000.0]")
      .Input(kX, "X", "any shape")
      .Output(kOut, "Out", "shape of X; one axis with flatten")
      .Attr(&LogcumsumexpAttrs::axis, "axis", "the axis; negative ones count from the end")
      .Attr(&LogcumsumexpAttrs::flatten, "flatten", "over all elements of X as if it had one axis")
      .Attr(&LogcumsumexpAttrs::exclusive, "exclusive", "each sum without its own element")
      .Attr(&LogcumsumexpAttrs::reverse, "reverse", "from the end to the beginning")
      .Shape([](InferContext& ctx) { ctx.SetOutput(kOut, OutDims(ctx)); })
      .ShareLoD(kX)
      .Grad(CallGradient);
}

template <class T>
struct LogSums {
  using State = T;
  const T* x;
  T* out;
  bool exclusive;
  DYGRAPH_INLINE T None() const { return -std::numeric_limits<T>::infinity(); }
  DYGRAPH_INLINE T Load(int64_t at, int64_t) const { return x[at]; }
  DYGRAPH_INLINE T Next(T sum, T v) const {
    T high = v > sum ? v : sum, low = v > sum ? sum : v;
    return v != v || sum != sum ? v + sum : high + std::log1p(Ratio(low, high));
  }
  DYGRAPH_INLINE T Merge(T a, T b) const { return Next(a, b); }
  DYGRAPH_INLINE void Store(int64_t at, T before, T sum) const {
    out[at] = exclusive ? before : sum;
  }
};

template <class T>
struct LogcumsumexpKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<LogcumsumexpAttrs>();
    const Direction d = DirectionOf(ctx.In(kX).dims(), a);
    const LogSums<T> sums{ctx.In(kX).data<T>(), ctx.Out(kOut).mutable_data<T>(), a.exclusive};
    cumulative::Scan(d.lines, a.reverse, sums, 40);
  }
};

// Both gradients are sums with the weights W[i, j] = exp(X[i] - Out[j]), i <= j (i < j with
// exclusive), built up with ratios of sums that follow on each other, which are at most 1.
namespace grad {
constexpr int kX = 0, kOut = 1, kOutGrad = 2, kXGrad = 0;

void DefineLogcumsumexpGrad(OpDef& op) {
  op.Comment(
        "X@GRAD[i] = the sum over j >= i of exp(X[i] - Out[j]) * Out@GRAD[j]; over j > i with "
        "exclusive.")
      .Input(kX, "X", "input of logcumsumexp")
      .Input(kOut, "Out", "its result")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf("logcumsumexp")
      .SameShape(kX, kXGrad)
      // L = sum of V[i] W[i, j] G[j]: to G the transposed sums, to X V times X@GRAD, to Out minus G
      // times the transposed sums.
      .Grad([](GradBuilder& g) {
        RecipeRef v = g.OutputGrad(kXGrad), x_grad = g.Temp(), sums = g.Temp();
        g.Call("logcumsumexp_grad_grad", {g.Input(kX), g.Input(kOut), v}, {sums}).SameAttrs();
        g.Call("scale", {sums}, {g.InputGrad(kOutGrad)});
        g.Call("logcumsumexp_grad", {g.Input(kX), g.Input(kOut), g.Input(kOutGrad)}, {x_grad})
            .SameAttrs();
        g.Call("elementwise_mul", {v, x_grad}, {g.InputGrad(kX)});
        RecipeRef product = g.Apply("elementwise_mul", {g.Input(kOutGrad), sums});
        g.Call("scale", {product}, {g.InputGrad(kOut)}).Attr("scale", -1.0f);
      });
}

template <class T>
struct LogcumsumexpGradKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<LogcumsumexpAttrs>();
    const T *x = ctx.In(kX).data<T>(), *out = ctx.In(kOut).data<T>(),
            *g = ctx.In(kOutGrad).data<T>();
    T* to = ctx.Out(kXGrad).mutable_data<T>();
    Direction d = DirectionOf(ctx.In(kX).dims(), a);
    bool exclusive = a.exclusive;
    cumulative::ForLines(d.lines, 40, [=] DYGRAPH_FN(int64_t first) {
      T rest = T(0);  // the sum over j >= i of exp(Out[i] - Out[j]) * Out@GRAD[j]
      int64_t at = d.Start(first) + (d.lines.n - 1) * d.step;
      for (int64_t i = d.lines.n - 1; i >= 0; --i, at -= d.step) {
        bool last = i + 1 == d.lines.n;
        if (exclusive) to[at] = last ? T(0) : Ratio(x[at], out[at + d.step]) * rest;
        rest = g[at] + (last ? T(0) : Ratio(out[at], out[at + d.step]) * rest);
        if (!exclusive) to[at] = Ratio(x[at], out[at]) * rest;
      }
    });
  }
};
}  // namespace grad

namespace grad_grad {
constexpr int kX = 0, kOut = 1, kXGradGrad = 2, kOutGradGrad = 0;

void DefineLogcumsumexpGradGrad(OpDef& op) {
  op.Comment(
        "Out@GRAD@GRAD[j] = the sum over i <= j of X@GRAD@GRAD[i] * exp(X[i] - Out[j]); over i < j "
        "with exclusive.")
      .Input(kX, "X", "input of logcumsumexp")
      .Input(kOut, "Out", "its result")
      .Input(kXGradGrad, "X@GRAD@GRAD", "shape of X")
      .Output(kOutGradGrad, "Out@GRAD@GRAD", "shape of Out")
      .AttrsOf("logcumsumexp")
      .SameShape(kOut, kOutGradGrad)
      .Grad([](GradBuilder& g) {
        RecipeRef w = g.OutputGrad(kOutGradGrad), sums = g.Temp(), back = g.Temp();
        g.Call("logcumsumexp_grad", {g.Input(kX), g.Input(kOut), w}, {back}).SameAttrs();
        g.Call("scale", {back}, {g.InputGrad(kXGradGrad)});
        g.Call("elementwise_mul", {g.Input(kXGradGrad), back}, {g.InputGrad(kX)});
        g.Call("logcumsumexp_grad_grad", {g.Input(kX), g.Input(kOut), g.Input(kXGradGrad)}, {sums})
            .SameAttrs();
        RecipeRef product = g.Apply("elementwise_mul", {w, sums});
        g.Call("scale", {product}, {g.InputGrad(kOut)}).Attr("scale", -1.0f);
      });
}

template <class T>
struct LogcumsumexpGradGradKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<LogcumsumexpAttrs>();
    const T *x = ctx.In(kX).data<T>(), *out = ctx.In(kOut).data<T>(),
            *v = ctx.In(kXGradGrad).data<T>();
    T* to = ctx.Out(kOutGradGrad).mutable_data<T>();
    Direction d = DirectionOf(ctx.In(kX).dims(), a);
    bool exclusive = a.exclusive;
    cumulative::ForLines(d.lines, 40, [=] DYGRAPH_FN(int64_t first) {
      T mean = T(0);
      int64_t at = d.Start(first);
      for (int64_t i = 0; i < d.lines.n; ++i, at += d.step) {
        int64_t before = at - d.step, added = exclusive ? before : at;
        if (i > 0) mean *= Ratio(out[before], out[at]);
        if (i > 0 || !exclusive) mean += v[added] * Ratio(x[added], out[at]);
        to[at] = mean;
      }
    });
  }
};
}  // namespace grad_grad

REGISTER_OPERATOR(logcumsumexp, DefineLogcumsumexp);
REGISTER_LOD_RULE(logcumsumexp, [](const LoDCall& c) {
  const auto& a = c.attrs<LogcumsumexpAttrs>();
  return !a.flatten && c.IsBehindFirst(a.axis);
});
REGISTER_KERNELS(logcumsumexp, LogcumsumexpKernel, float, double);
REGISTER_OPERATOR(logcumsumexp_grad, grad::DefineLogcumsumexpGrad);
REGISTER_KERNELS(logcumsumexp_grad, grad::LogcumsumexpGradKernel, float, double);
REGISTER_OPERATOR(logcumsumexp_grad_grad, grad_grad::DefineLogcumsumexpGradGrad);
REGISTER_KERNELS(logcumsumexp_grad_grad, grad_grad::LogcumsumexpGradGradKernel, float, double);

}  // namespace
}  // namespace dygraph

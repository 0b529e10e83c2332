#include <cmath>

#include "kernels/cast.h"
#include "kernels/elementwise.h"
#include "kernels/power.h"
#include "op/gradient_call.h"
#include "op/op_registry.h"
#include "op/pointwise.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kFactorTensor = 1, kOut = 0;
constexpr int64_t kPowCost = 24;

struct PowAttrs {
  double factor = 1.0;
};

template <class T>
double FactorOf(const KernelContext& ctx, int slot) {
  const Tensor* t = ctx.InOrNull(slot);
  if (!t) return NumberFor<T>(ctx.attrs<PowAttrs>().factor);
  ENFORCE(t->numel() == 1, InvalidArgument, "FactorTensor must have one element, got shape ",
          t->dims());
  return Item(*t);
}

void DefinePow(OpDef& op) {
  op.Comment("Out = X ** factor, elementwise. Results of integers are rounded towards zero.")
      .Example(
          ">>> F.pow(to_variable([1.0, 2.0, -3.0]), factor=2.0).tolist()\n"
          "[1.0, 4.0, 9.0]")
      .Input(kX, "X", "any shape")
      .Input(kFactorTensor, "FactorTensor", "the exponent, one element, in place of the attribute",
             kDispensable)
      .Output(kOut, "Out", "shape of X")
      .Attr(&PowAttrs::factor, "factor", "the exponent")
      .SameShape(kX, kOut)
      .KernelDTypeOf(kX)
      .MixedDTypes()
      .KeepsLayout()
      .ShareLoD(kX)
      .InPlace(kX, kOut)
      .Grad(CallGradient);
}

template <class T, int e>
struct WholePower {
  DYGRAPH_INLINE T operator()(T v) const {
    if constexpr (e == 0) return T(1);
    if constexpr (e == 1) return v;
    if constexpr (e == 2) return v * v;
    if constexpr (e == 3) return v * v * v;
    if constexpr (e == -1) return T(1) / v;
  }
};
template <class T>
struct RootPower {  // pow gives +0 for -0 and inf for -inf, sqrt does not
  DYGRAPH_INLINE T operator()(T v) const {
    return v == -std::numeric_limits<T>::infinity() ? -v : kernels::Sqrt(v + T(0));
  }
};
template <class T>
struct LibraryPower {
  T e;
  DYGRAPH_INLINE T operator()(T v) const { return std::pow(v, e); }
};

// Calls f(power, cost) with a function for x ** e; exponents that need no pow() have their own.
template <class T, class F>
void ForPower(double e, F f) {
  if (e == 0) return f(WholePower<T, 0>(), 1);
  if (e == 1) return f(WholePower<T, 1>(), 1);
  if (e == 2) return f(WholePower<T, 2>(), 1);
  if (e == 3) return f(WholePower<T, 3>(), 1);
  if (e == -1) return f(WholePower<T, -1>(), 4);
  if (e == 0.5) return f(RootPower<T>(), 4);
  T t = static_cast<T>(e);
  if (!std::isfinite(t)) return f(LibraryPower<T>{t}, kPowCost);
  f(kernels::PowerOf<T>(t), kPowCost);
}

template <class T>
struct FactorPowKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    double e = FactorOf<T>(ctx, kFactorTensor);
    const T* from = x.data<T>();
    T* to = ctx.Out(kOut).mutable_data<T>();
    if constexpr (std::is_integral_v<T>) {
      auto power = [e] DYGRAPH_FN(T v) {  // whole exponents by squaring: exact, wrapping
        if (e < 0 || e != std::floor(e) || e > 1e9)
          return kernels::Convert<T>(std::pow(static_cast<double>(v), e));
        uint64_t result = 1, square = static_cast<uint64_t>(v);
        for (auto n = static_cast<uint64_t>(e); n > 0; n >>= 1, square *= square)
          result *= n & 1 ? square : 1;
        return static_cast<T>(result);
      };
      kernels::Map(from, to, x.numel(), power, kPowCost);
    } else {
      ForPower<T>(
          e, [&](auto power, int64_t cost) { kernels::Map(from, to, x.numel(), power, cost); });
    }
  }
};

namespace grad {
constexpr int kX = 0, kFactorTensor = 1, kOutGrad = 2, kXGrad = 0;

void DefinePowGrad(OpDef& op) {
  op.Comment("X@GRAD = Out@GRAD * factor * X ** (factor - 1); 0 where factor is.")
      .Input(kX, "X", "the base")
      .Input(kFactorTensor, "FactorTensor", "the exponent, in place of the attribute", kDispensable)
      .Input(kOutGrad, "Out@GRAD", "shape of X")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf("pow")
      .SameShape(kX, kXGrad)
      .KernelDTypeOf(kX)
      .MixedDTypes()
      .KeepsLayout()
      .Grad([](GradBuilder& g) {
        RecipeRef ddx = g.OutputGrad(kXGrad), factor = g.Input(kFactorTensor);
        g.Call("pow_grad", {g.Input(kX), factor, ddx}, {g.InputGrad(kOutGrad)}).SameAttrs();
        // factor * d(X ** (factor - 1)) / dX, times both gradients
        RecipeRef product = g.Apply("elementwise_mul", {ddx, g.Input(kOutGrad)});
        RecipeRef slope = g.Temp();
        if (g.HasInput(kFactorTensor)) {
          RecipeRef less = g.Temp();
          g.Call("scale", {factor}, {less}).Attr("bias", -1.0f);
          g.Call("pow_grad", {g.Input(kX), less, product}, {slope});
          g.Call("scale", {slope, factor}, {g.InputGrad(kX)});
          return;
        }
        const double e = g.attrs<PowAttrs>().factor;
        g.Call("pow_grad", {g.Input(kX), {}, product}, {slope})
            .Number("factor",
                    WorkOut([e](auto one) { return static_cast<decltype(one)>(e) - one; }));
        g.Call("scale", {slope}, {g.InputGrad(kX)}).Attr("scale", e);
      });
}

// d * t * power(v)
template <class T, class P>
struct PowerSlope {
  T t;
  P power;
  DYGRAPH_INLINE T operator()(T v, T d) const { return d * (t * power(v)); }
};

template <class T>
struct FactorPowGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    double e = FactorOf<T>(ctx, kFactorTensor);
    T t = static_cast<T>(e);
    T* to = ctx.Out(kXGrad).mutable_data<T>();
    if (e == 0) return kernels::Fill(to, x.numel(), T(0));
    const T *from = x.data<T>(), *g = ctx.In(kOutGrad).data<T>();
    ForPower<T>(e - 1, [&](auto power, int64_t cost) {
      kernels::Zip(from, g, to, x.numel(), PowerSlope<T, decltype(power)>{t, power}, cost);
    });
  }
};
}  // namespace grad

REGISTER_OPERATOR(pow, DefinePow);
REGISTER_POINTWISE(pow);
REGISTER_KERNELS(pow, FactorPowKernel, float, double, int32_t, int64_t);
REGISTER_OPERATOR(pow_grad, grad::DefinePowGrad);
REGISTER_POINTWISE(pow_grad);
REGISTER_KERNELS(pow_grad, grad::FactorPowGradKernel, float, double);

}  // namespace
}  // namespace dygraph

#include "kernels/value_check.h"
#include "op/lod_rule.h"
#include "operators/loss/pointwise_loss.h"

namespace dygraph::pointwise_loss {
namespace {

struct ModifiedHuber {
  static constexpr bool kStraight = false;
  static constexpr auto kCurve = pointwise_loss::Curve::kFlat;
  static constexpr const char *kType = "modified_huber_loss", *kScore = "X", *kLabel = "Y",
                              *kLoss = "Out";
  using Attrs = void;
  template <class T>
  struct Fn {
    Fn(const KernelContext&, const T*, const T* y, int64_t n) { CheckTruths(y, n); }
    static void CheckTruths(const T* y, int64_t n) {
      kernels::CheckEach(
          y, n, [] DYGRAPH_FN(T v) { return v == T(0) || v == T(1); }, "Y must hold 0 or 1, got %");
    }
    DYGRAPH_BOTH T Value(T x, T y) const {
      T v = (T(2) * y - T(1)) * x;
      if (v < T(-1)) return T(-4) * v;
      return v < T(1) ? (T(1) - v) * (T(1) - v) : v == v ? T(0) : v;
    }
    DYGRAPH_BOTH T Slope(T x, T y) const {
      T sign = T(2) * y - T(1), v = sign * x;
      return v < T(-1) ? T(-4) * sign : v < T(1) ? T(-2) * (T(1) - v) * sign : T(0);
    }
    DYGRAPH_BOTH T Curve(T x, T y) const {
      T v = (T(2) * y - T(1)) * x;
      return v >= T(-1) && v < T(1) ? T(2) : T(0);
    }
  };
};

void DefineModifiedHuber(OpDef& op) {
  // The loss with one more output: the margin that decides which piece applies.
  op.Comment(
        "With v = (2 * Y - 1) * X: Out = -4 v for v < -1, (1 - v)^2 up to 1, else 0. Y gets no "
        "gradient.")
      .Example(
          ">>> scores, labels = to_variable([-2.0, 0.5, 2.0]), to_variable([1.0, 1.0, 1.0])\n"
          ">>> F.modified_huber_loss(scores, labels).tolist()\n"
          "[8.0, 0.25, 0.0]")
      .Input(kScore, "X", "scores, any shape")
      .Input(kLabel, "Y", "0 or 1, shape of X")
      .Output(0, "IntermediateVal", "v, shape of X", kIntermediate)
      .Output(1, "Out", "shape of X")
      .Shape([](InferContext& ctx) {
        labels::CheckSameShape(ctx, kScore, kLabel);
        ctx.SetOutput(0, ctx.dims(kScore));
        ctx.SetOutput(1, ctx.dims(kScore));
      })
      .ShareLoD(kScore)
      .Grad([](GradBuilder& g) {
        g.Call("modified_huber_loss_grad", {g.Input(kScore), g.Input(kLabel), g.OutputGrad(1)},
               {g.InputGrad(kScore)});
      });
}

template <class T>
struct ModifiedHuberKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kScore), &y = ctx.In(kLabel);
    const T *xd = x.data<T>(), *yd = y.data<T>();
    ModifiedHuber::Fn<T> f(ctx, xd, yd, x.numel());
    Tensor *margin = ctx.OutOrNull(0), *out = ctx.OutOrNull(1);
    T* v = margin ? margin->mutable_data<T>() : nullptr;
    T* loss = out ? out->mutable_data<T>() : nullptr;
    kernels::ForEach(x.numel(), [=] DYGRAPH_FN(int64_t i) {
      if (v) v[i] = (T(2) * yd[i] - T(1)) * xd[i];
      if (loss) loss[i] = f.Value(xd[i], yd[i]);
    });
  }
};
template <class T>
using ModifiedHuberGradKernel = Loss<ModifiedHuber>::GradKernel<T>;
template <class T>
using ModifiedHuberGradGradKernel = Loss<ModifiedHuber>::GradGradKernel<T>;

REGISTER_OPERATOR(modified_huber_loss, DefineModifiedHuber);
REGISTER_LOD_ALSO(modified_huber_loss, kLabel);
REGISTER_KERNELS(modified_huber_loss, ModifiedHuberKernel, float, double);
REGISTER_OPERATOR(modified_huber_loss_grad, Loss<ModifiedHuber>::DefineGrad);
REGISTER_KERNELS(modified_huber_loss_grad, ModifiedHuberGradKernel, float, double);
REGISTER_OPERATOR(modified_huber_loss_grad_grad, Loss<ModifiedHuber>::DefineGradGrad);
REGISTER_KERNELS(modified_huber_loss_grad_grad, ModifiedHuberGradGradKernel, float, double);

}  // namespace
}  // namespace dygraph::pointwise_loss

#include <cmath>

#include "kernels/fold.h"
#include "op/gradient_call.h"
#include "op/gradient_shapes.h"
#include "op/lod_rule.h"
#include "operators/labels.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kTarget = 1, kLoss = 0;

struct KldivAttrs {
  std::string reduction = "mean";
};

Dims LossDims(InferContext& ctx, int like) {
  const Dims& x = ctx.dims(like);
  const std::string& reduction = ctx.attrs<KldivAttrs>().reduction;
  ENFORCE(reduction != "batchmean" || !x.empty(), InvalidArgument,
          "reduction 'batchmean' needs a batch axis, got shape ", x);
  return reduction == "none" ? x : Dims();
}

// What the reduction multiplies the sum by.
template <class T>
T FactorOf(const std::string& reduction, const Tensor& x) {
  if (reduction == "mean") return T(1) / static_cast<T>(x.numel());
  if (reduction == "batchmean") return T(1) / static_cast<T>(x.dim(0));
  return T(1);
}

void DefineKldiv(OpDef& op) {
  op.Comment(
        "The Kullback-Leibler divergence Target * (log(Target) - X), 0 where Target is 0 or less, "
        "element by element, or reduced: 'mean' over elements, 'batchmean' the sum over the size "
        "of axis 0, 'sum'. Target gets no gradient.")
      .Example(
          ">>> x, target = F.log(to_variable([0.5, 0.5])), to_variable([1.0, 0.0])\n"
          ">>> round(F.kldiv_loss(x, target, reduction=\"sum\").item(), 4)  # log(1) - log(0.5)\n"
          "0.6931")
      .Input(kX, "X", "logarithms of probabilities, any shape")
      .Input(kTarget, "Target", "probabilities, shape of X")
      .Output(kLoss, "Loss", "shape of X, or [] when reduced")
      .Attr(&KldivAttrs::reduction, "reduction", "none, batchmean, mean or sum",
            OneOf({"none", "batchmean", "mean", "sum"}))
      .ShareLoD(kX)
      .Shape([](InferContext& ctx) {
        labels::CheckSameShape(ctx, kX, kTarget);
        ctx.SetOutput(kLoss, LossDims(ctx, kX));
      })
      .Grad(CallGradient);
}

template <class T>
struct KldivKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    const std::string& reduction = ctx.attrs<KldivAttrs>().reduction;
    const T *xd = x.data<T>(), *t = ctx.In(kTarget).data<T>();
    T* out = ctx.Out(kLoss).mutable_data<T>();
    auto loss = [xd, t] DYGRAPH_FN(int64_t i) {
      return t[i] > T(0) ? t[i] * (std::log(t[i]) - xd[i]) : T(0);
    };
    if (reduction == "none") {
      return kernels::ForEach(
          x.numel(), [out, loss] DYGRAPH_FN(int64_t i) { out[i] = loss(i); }, 16);
    }
    const T factor = FactorOf<T>(reduction, x);
    kernels::FoldAll(
        x.numel(), 0.0,
        [loss] DYGRAPH_FN(int64_t i) { return static_cast<double>(loss(i)); }, kernels::Sum(),
        [=] DYGRAPH_FN(double sum) { *out = static_cast<T>(sum) * factor; });
  }
};

namespace grad {
constexpr int kTarget = 0, kLossGrad = 1, kXGrad = 0;

void DefineKldivGrad(OpDef& op) {
  op.Comment(
        "X@GRAD = -Target * Loss@GRAD, times what the reduction divides by; 0 where Target "
        "is 0 or less.")
      .Input(kTarget, "Target", "as of the forward call")
      .Input(kLossGrad, "Loss@GRAD", "shape of Loss")
      .Output(kXGrad, "X@GRAD", "shape of Target")
      .AttrsOf("kldiv_loss")
      .Shape([](InferContext& ctx) {
        Dims loss = LossDims(ctx, kTarget);
        ENFORCE(labels::Fits(ctx.dims(kLossGrad), loss), InvalidArgument,
                "Loss@GRAD must have the shape of Loss, ", loss, ", got ", ctx.dims(kLossGrad));
        ctx.SetOutput(kXGrad, ctx.dims(kTarget));
      })
      .Grad([](GradBuilder& g) {
        // Linear in Loss@GRAD: what arrives goes the way back, elementwise, then reduced alike.
        const std::string reduction = g.attrs<KldivAttrs>().reduction;
        RecipeRef v = g.OutputGrad(kXGrad), back = g.InputGrad(kLossGrad);
        if (reduction == "none") {
          g.Call("kldiv_loss_grad", {g.Input(kTarget), v}, {back}).SameAttrs();
          return;
        }
        RecipeRef each = g.Temp();
        g.Call("kldiv_loss_grad", {g.Input(kTarget), v}, {each})
            .Attr("reduction", std::string("none"));
        if (reduction == "batchmean") {
          RecipeRef mean = g.Temp();
          g.Call("reduce_mean", {each}, {mean}).Attr("dim", std::vector<int32_t>{0});
          each = mean;
        }
        g.Call(reduction == "mean" ? "reduce_mean" : "reduce_sum", {each}, {back})
            .Attr("reduce_all", true);
      });
}

template <class T>
struct KldivGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& target = ctx.In(kTarget);
    const std::string& reduction = ctx.attrs<KldivAttrs>().reduction;
    const T *t = target.data<T>(), *g = ctx.In(kLossGrad).data<T>();
    T* dx = ctx.Out(kXGrad).mutable_data<T>();
    T factor = target.numel() ? FactorOf<T>(reduction, target) : T(1);
    bool each = reduction == "none";
    kernels::ForEach(target.numel(), [=] DYGRAPH_FN(int64_t i) {
      dx[i] = t[i] > T(0) ? -t[i] * g[each ? i : 0] * factor : T(0);
    });
  }
};
}  // namespace grad

REGISTER_GRADIENT_SHAPES(kldiv_loss, {"X", "Target"});
REGISTER_OPERATOR(kldiv_loss, DefineKldiv);
REGISTER_LOD_ALSO(kldiv_loss, kTarget);
REGISTER_KERNELS(kldiv_loss, KldivKernel, float, double);
REGISTER_OPERATOR(kldiv_loss_grad, grad::DefineKldivGrad);
REGISTER_KERNELS(kldiv_loss_grad, grad::KldivGradKernel, float, double);

}  // namespace
}  // namespace dygraph

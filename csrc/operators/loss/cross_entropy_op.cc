#include <cmath>

#include "op/gradient_call.h"
#include "op/lod_rule.h"
#include "kernels/elementwise.h"
#include "operators/loss/targets.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kLabel = 1, kY = 0;

struct CrossEntropyAttrs {
  bool soft_label = false;
  int32_t ignore_index = -100;
};

void InferShape(InferContext& ctx) {
  ctx.SetOutput(
      kY, labels::InferLoss(ctx, kX, "X", kLabel, -1, ctx.attrs<CrossEntropyAttrs>().soft_label,
                            true));
}

void DefineCrossEntropy(OpDef& op) {
  op.Comment(
        "Y = -log(X[Label]), or -sum(Label * log(X)) with soft_label, over the last axis; 0 where "
        "Label is ignore_index. A "
        "probability of 0 costs 1e20, not infinity. Label gets no gradient.")
      .Example(
          ">>> loss = F.cross_entropy(to_variable([[0.25, 0.75]]), to_variable([[1]]))\n"
          ">>> round(loss.item(), 4)  # -log(0.75)\n"
          "0.2877")
      .Input(kX, "X", "probabilities [..., C]")
      .Input(kLabel, "Label", "int64 or int32 classes [..., 1] or [...]; soft: shape of X")
      .Output(kY, "Y", "[..., 1], or [...] where Label is")
      .Attr(&CrossEntropyAttrs::soft_label, "soft_label", "Label holds distributions")
      .Attr(&CrossEntropyAttrs::ignore_index, "ignore_index", "a Label without loss or gradient")
      .MixedDTypes()
      .Shape(InferShape)
      .ShareLoD(kX)
      .Grad(CallGradient);
}

template <class T>
labels::Targets<T> TargetsOf(const Tensor& x, const Tensor& label, const CrossEntropyAttrs& a) {
  return {label, a.soft_label, a.ignore_index, labels::ShapeOf(x.dims(), -1)};
}

template <class T>
struct CrossEntropyKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    const auto targets = TargetsOf<T>(x, ctx.In(kLabel), ctx.attrs<CrossEntropyAttrs>());
    const T* xd = x.data<T>();
    T* y = ctx.Out(kY).mutable_data<T>();
    const int64_t rows = labels::ShapeOf(x.dims(), -1).outer;
    kernels::ForEachRowPlain(
        rows, rows ? x.numel() / rows : 0,
        [=] DYGRAPH_FN(int64_t r, kernels::Team team) {
          const labels::RowTargets<T> row = targets[r];
          const T loss = kernels::Fold(
              team, row.count, T(0),
              [=](int64_t i) {
                const T part = row.Part(i);
                if (part == T(0)) return T(0);  // 0 log 0 is 0
                const T log = std::log(xd[row.At(i)]);
                return -(part * (std::isinf(log) ? std::copysign(T(1e20), log) : log));
              },
              kernels::Sum());
          team.Once([=] { y[r] = loss; });
        },
        16);
  }
};

namespace grad {
constexpr int kX = 0, kLabel = 1, kYGrad = 2, kXGrad = 0;

void DefineCrossEntropyGrad(OpDef& op) {
  op.Comment("X@GRAD = -Y@GRAD / X at Label and 0 elsewhere; with soft_label -Y@GRAD * Label / X.")
      .Input(kX, "X", "as of the forward call")
      .Input(kLabel, "Label", "as of the forward call")
      .Input(kYGrad, "Y@GRAD", "shape of Y")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf("cross_entropy")
      .MixedDTypes()
      .SameShape(kX, kXGrad)
      .Grad(CallGradient);
}

template <class T>
struct CrossEntropyGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    const T *xd = x.data<T>(), *g = ctx.In(kYGrad).data<T>();
    T* dx = ctx.Out(kXGrad).mutable_data<T>();
    kernels::Fill(dx, x.numel(), T(0));
    const auto targets = TargetsOf<T>(x, ctx.In(kLabel), ctx.attrs<CrossEntropyAttrs>());
    const int64_t rows = labels::ShapeOf(x.dims(), -1).outer;
    kernels::ForEachRowPlain(rows, rows ? x.numel() / rows : 0,
                             [=] DYGRAPH_FN(int64_t r, kernels::Team team) {
                               const labels::RowTargets<T> row = targets[r];
                               team.Each(row.count, [=](int64_t i) {
                                 const T part = row.Part(i);
                                 const int64_t j = row.At(i);
                                 if (part != T(0)) dx[j] = -g[r] * part / xd[j];
                               });
                             });
  }
};
}  // namespace grad

namespace grad_grad {
constexpr int kX = 0, kLabel = 1, kYGrad = 2, kV = 3, kXResult = 0, kYGradResult = 1;

void InferGradGradShape(InferContext& ctx) {
  ctx.SetOutput(kXResult, ctx.dims(kX));
  ctx.SetOutput(kYGradResult, ctx.dims(kYGrad));
}

void DefineCrossEntropyGradGrad(OpDef& op) {
  op.Comment(
        "What cross_entropy_grad gives X, V * Y@GRAD / X^2 at Label, and Y@GRAD, -V / X at Label; "
        "with soft_label times Label and summed.")
      .Input(kX, "X", "as of the forward call")
      .Input(kLabel, "Label", "as of the forward call")
      .Input(kYGrad, "Y@GRAD", "shape of Y")
      .Input(kV, "X@GRAD@GRAD", "shape of X")
      .Output(kXResult, "X@GRAD", "shape of X")
      .Output(kYGradResult, "Y@GRAD@GRAD", "shape of Y")
      .AttrsOf("cross_entropy")
      .MixedDTypes()
      .Shape(InferGradGradShape)
      .Grad([](GradBuilder& g) {
        // With u and U for what arrives, the value is sum(U V Y@GRAD / X^2) - sum(u V / X) over
        // the labels: each derivative is this operator or cross_entropy_grad on other arguments.
        RecipeRef x = g.Input(kX), label = g.Input(kLabel), y_grad = g.Input(kYGrad);
        RecipeRef v = g.Input(kV), to_x = g.OutputGrad(kXResult), to_y = g.OutputGrad(kYGradResult);
        RecipeRef product = g.Apply("elementwise_mul", {to_x, v});
        RecipeRef ratio = g.Apply("elementwise_div", {product, x});
        const char* self = "cross_entropy_grad_grad";
        RecipeRef cubes = g.Temp(), squares = g.Temp(), rows = g.Temp(), a = g.Temp(), b = g.Temp();
        g.Call(self, {x, label, y_grad, ratio}, {cubes, rows}).SameAttrs();
        g.Call(self, {x, label, to_y, v}, {squares, {}}).SameAttrs();
        g.Call("sum", {RecipeSlot({g.ApplyScale(cubes, -2.0f), squares})}, {g.InputGrad(kX)});
        g.Call("scale", {rows}, {g.InputGrad(kYGrad)}).Attr("scale", -1.0f);
        g.Call(self, {x, label, y_grad, to_x}, {a, {}}).SameAttrs();
        g.Call("cross_entropy_grad", {x, label, to_y}, {b}).SameAttrs();
        g.Call("sum", {RecipeSlot({a, b})}, {g.InputGrad(kV)});
      });
}

template <class T>
struct CrossEntropyGradGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    const T *xd = x.data<T>(), *g = ctx.In(kYGrad).data<T>(), *v = ctx.In(kV).data<T>();
    Tensor *to_x = ctx.OutOrNull(kXResult), *to_g = ctx.OutOrNull(kYGradResult);
    T *dx = to_x ? to_x->mutable_data<T>() : nullptr, *dg = to_g ? to_g->mutable_data<T>() : nullptr;
    if (dx) kernels::Fill(dx, x.numel(), T(0));
    const auto targets = TargetsOf<T>(x, ctx.In(kLabel), ctx.attrs<CrossEntropyAttrs>());
    const int64_t rows = labels::ShapeOf(x.dims(), -1).outer;
    kernels::ForEachRowPlain(
        rows, rows ? x.numel() / rows : 0, [=] DYGRAPH_FN(int64_t r, kernels::Team team) {
          const labels::RowTargets<T> row = targets[r];
          const T change = kernels::Fold(
              team, row.count, T(0),
              [=](int64_t i) {
                const T part = row.Part(i);
                const int64_t j = row.At(i);
                if (part == T(0)) return T(0);
                if (dx) dx[j] = v[j] * g[r] * part / (xd[j] * xd[j]);
                return -(v[j] * part / xd[j]);
              },
              kernels::Sum());
          team.Once([=] {
            if (dg) dg[r] = change;
          });
        });
  }
};
}  // namespace grad_grad

REGISTER_OPERATOR(cross_entropy, DefineCrossEntropy);
REGISTER_LOD_ALSO(cross_entropy, kLabel);
REGISTER_KERNELS(cross_entropy, CrossEntropyKernel, float, double);
REGISTER_OPERATOR(cross_entropy_grad, grad::DefineCrossEntropyGrad);
REGISTER_KERNELS(cross_entropy_grad, grad::CrossEntropyGradKernel, float, double);
REGISTER_OPERATOR(cross_entropy_grad_grad, grad_grad::DefineCrossEntropyGradGrad);
REGISTER_KERNELS(cross_entropy_grad_grad, grad_grad::CrossEntropyGradGradKernel, float, double);

}  // namespace
}  // namespace dygraph

#include <cmath>

#include "op/gradient_call.h"
#include "op/lod_rule.h"
#include "operators/labels.h"

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

// Calls f(row, position in X, weight) for every probability that enters the loss of its row.
template <class T, class F>
void ForEachTerm(const Tensor& x, const Tensor& label, const CrossEntropyAttrs& a, F f) {
  kernels::SoftmaxShape s = labels::ShapeOf(x.dims(), -1);
  if (!a.soft_label) {
    labels::ClassLabels classes(label);
    classes.Check(s.n, a.ignore_index);
    for (int64_t r = 0; r < s.outer; ++r) {
      if (classes[r] != a.ignore_index) f(r, r * s.n + classes[r], T(1));
    }
    return;
  }
  const T* weights = label.data<T>();
  for (int64_t r = 0; r < s.outer; ++r) {
    for (int64_t j = r * s.n; j < (r + 1) * s.n; ++j) {
      if (weights[j] != T(0)) f(r, j, weights[j]);
    }
  }
}

template <class T>
struct CrossEntropyKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    Tensor& out = ctx.Out(kY);
    const T* xd = x.data<T>();
    T* y = out.mutable_data<T>();
    std::fill(y, y + out.numel(), T(0));
    ForEachTerm<T>(x, ctx.In(kLabel), ctx.attrs<CrossEntropyAttrs>(),
                   [=](int64_t r, int64_t j, T w) {
                     T log = std::log(xd[j]);
                     y[r] -= w * (std::isinf(log) ? std::copysign(T(1e20), log) : log);
                   });
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
    std::fill(dx, dx + x.numel(), T(0));
    ForEachTerm<T>(x, ctx.In(kLabel), ctx.attrs<CrossEntropyAttrs>(),
                   [=](int64_t r, int64_t j, T w) { dx[j] = -g[r] * w / xd[j]; });
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
    auto cleared = [](Tensor* t) {
      T* data = t ? t->mutable_data<T>() : nullptr;
      if (t) std::fill(data, data + t->numel(), T(0));
      return data;
    };
    T *dx = cleared(ctx.OutOrNull(kXResult)), *dg = cleared(ctx.OutOrNull(kYGradResult));
    ForEachTerm<T>(x, ctx.In(kLabel), ctx.attrs<CrossEntropyAttrs>(),
                   [=](int64_t r, int64_t j, T w) {
                     if (dx) dx[j] = v[j] * g[r] * w / (xd[j] * xd[j]);
                     if (dg) dg[r] -= v[j] * w / xd[j];
                   });
  }
};
}  // namespace grad_grad

REGISTER_OPERATOR(cross_entropy, DefineCrossEntropy);
REGISTER_LOD_ALSO(cross_entropy, kLabel);
REGISTER_CPU_KERNEL(cross_entropy, CrossEntropyKernel, float, double);
REGISTER_OPERATOR(cross_entropy_grad, grad::DefineCrossEntropyGrad);
REGISTER_CPU_KERNEL(cross_entropy_grad, grad::CrossEntropyGradKernel, float, double);
REGISTER_OPERATOR(cross_entropy_grad_grad, grad_grad::DefineCrossEntropyGradGrad);
REGISTER_CPU_KERNEL(cross_entropy_grad_grad, grad_grad::CrossEntropyGradGradKernel, float, double);

}  // namespace
}  // namespace dygraph

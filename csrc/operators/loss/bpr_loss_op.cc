#include <cmath>

#include "op/gradient_call.h"
#include "op/lod_rule.h"
#include "operators/higher_gradient.h"
#include "operators/labels.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kLabel = 1, kY = 0;

void DefineBpr(OpDef& op) {
  op.Comment(
        "Y = -sum over j other than Label of log(sigmoid(X[Label] - X[j])) / (C - 1): Bayesian "
        "personalised ranking (Hidasi et al., 2016). Label gets no gradient.")
      .Example(
          ">>> loss = F.bpr_loss(to_variable([[1.0, 1.0, 1.0]]), to_variable([[0]]))\n"
          ">>> round(loss.item(), 4)  # two times log(2), over 2\n"
          "0.6931")
      .Input(kX, "X", "scores [..., C], C at least 2")
      .Input(kLabel, "Label", "int64 or int32 classes [..., 1] or [...]")
      .Output(kY, "Y", "[..., 1]")
      .MixedDTypes()
      .Shape([](InferContext& ctx) {
        Dims loss = labels::InferLoss(ctx, kX, "X", kLabel, -1, false);
        int64_t classes = ctx.dims(kX)[ctx.rank(kX) - 1];
        ENFORCE(classes >= 2 || classes < 0, InvalidArgument,
                "X must have at least 2 classes to rank, got shape ", ctx.dims(kX));
        ctx.SetOutput(kY, loss);
      })
      .ShareLoD(kX)
      .Grad(CallGradient);
}

// Calls f(row, position of the label's score, position of another, their difference).
template <class T, class F>
void ForEachPair(const Tensor& x, const Tensor& label, F f) {
  kernels::SoftmaxShape s = labels::ShapeOf(x.dims(), -1);
  labels::ClassLabels classes(label);
  classes.CheckAll(s.n);
  const T* xd = x.data<T>();
  for (int64_t r = 0; r < s.outer; ++r) {
    int64_t p = r * s.n + classes[r];
    for (int64_t j = r * s.n; j < (r + 1) * s.n; ++j) {
      if (j != p) f(r, p, j, xd[j] - xd[p]);
    }
  }
}

template <class T>
T Logistic(T x) {
  T e = std::exp(-std::abs(x));
  return (x >= T(0) ? T(1) : e) / (T(1) + e);
}

template <class T>
T Share(const Tensor& x) {
  return T(1) / static_cast<T>(x.dim(x.rank() - 1) - 1);
}

template <class T>
struct BprKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    Tensor& out = ctx.Out(kY);
    T *y = out.mutable_data<T>(), share = Share<T>(x);
    std::fill(y, y + out.numel(), T(0));
    ForEachPair<T>(x, ctx.In(kLabel), [=](int64_t r, int64_t, int64_t, T d) {
      y[r] += share * (std::log1p(std::exp(-std::abs(d))) + (d > T(0) ? d : T(0)));
    });
  }
};

namespace grad {
constexpr int kYGrad = 2, kXGrad = 0;

void DefineBprGrad(OpDef& op) {
  op.Comment(
        "X@GRAD[j] = Y@GRAD * sigmoid(X[j] - X[Label]) / (C - 1), and minus their sum at Label.")
      .Input(kX, "X", "as of the forward call")
      .Input(kLabel, "Label", "as of the forward call")
      .Input(kYGrad, "Y@GRAD", "shape of Y")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .MixedDTypes()
      .SameShape(kX, kXGrad)
      .Grad(CallGradient);
}

template <class T>
struct BprGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    const T* g = ctx.In(kYGrad).data<T>();
    T *dx = ctx.Out(kXGrad).mutable_data<T>(), share = Share<T>(x);
    std::fill(dx, dx + x.numel(), T(0));
    ForEachPair<T>(x, ctx.In(kLabel), [=](int64_t r, int64_t p, int64_t j, T d) {
      dx[j] = g[r] * share * Logistic(d);
      dx[p] -= dx[j];
    });
  }
};
}  // namespace grad

namespace grad_grad {
constexpr int kYGrad = 2, kV = 3, kXResult = 0, kYGradResult = 1;

void DefineBprGradGrad(OpDef& op);

struct BprThird {
  static constexpr uint32_t kServes = higher::Slots(kX, kYGrad, kV);
  static void Define(OpDef& op) { DefineBprGradGrad(op); }
  static std::vector<higher::Input> Inputs(const KernelContext&) { return {{kX, kV, kXResult}}; }
  static std::vector<higher::Result> Results(const KernelContext&) {
    return {{kYGrad, kYGradResult}};
  }
  static void Run(higher::Problem& p) {
    const Tensor& x = p.ctx.In(kX);
    kernels::SoftmaxShape s = labels::ShapeOf(x.dims(), -1);
    labels::ClassLabels classes(p.ctx.In(kLabel));
    classes.CheckAll(s.n);
    for (int64_t r = 0; r < s.outer; ++r) {
      std::vector<higher::Scalar> row = p.Leaves(0, r * s.n, s.n);
      higher::Scalar sum = kernels::Constant(0);
      for (int64_t j = 0; j < s.n; ++j) {
        if (j != classes[r]) sum = sum + Softplus(row[j] - row[classes[r]]);
      }
      p.Set(0, r, sum * Share<double>(x));
      p.Flush();
    }
  }
};

void DefineBprGradGrad(OpDef& op) {
  op.Comment("What bpr_loss_grad gives X and Y@GRAD for V.")
      .Input(kX, "X", "as of the forward call")
      .Input(kLabel, "Label", "as of the forward call")
      .Input(kYGrad, "Y@GRAD", "shape of Y")
      .Input(kV, "X@GRAD@GRAD", "V, shape of X")
      .Output(kXResult, "X@GRAD", "shape of X")
      .Output(kYGradResult, "Y@GRAD@GRAD", "shape of Y")
      .MixedDTypes()
      .Shape([](InferContext& ctx) {
        ctx.SetOutput(kXResult, ctx.dims(kX));
        ctx.SetOutput(kYGradResult, ctx.dims(kYGrad));
      })
      .Grad(higher::Recipe<BprThird>);
}

template <class T>
struct BprGradGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    const T *g = ctx.In(kYGrad).data<T>(), *v = ctx.In(kV).data<T>();
    auto cleared = [](Tensor* t) {
      T* data = t ? t->mutable_data<T>() : nullptr;
      if (t) std::fill(data, data + t->numel(), T(0));
      return data;
    };
    T *dx = cleared(ctx.OutOrNull(kXResult)), *dg = cleared(ctx.OutOrNull(kYGradResult));
    T share = Share<T>(x);
    ForEachPair<T>(x, ctx.In(kLabel), [=](int64_t r, int64_t p, int64_t j, T d) {
      T change = share * (v[j] - v[p]);
      if (dg) dg[r] += change * Logistic(d);
      if (!dx) return;
      dx[j] = g[r] * change * Logistic(d) * Logistic(-d);
      dx[p] -= dx[j];
    });
  }
};
}  // namespace grad_grad
using grad_grad::BprThird;

REGISTER_OPERATOR(bpr_loss, DefineBpr);
REGISTER_LOD_ALSO(bpr_loss, kLabel);
REGISTER_CPU_KERNEL(bpr_loss, BprKernel, float, double);
REGISTER_OPERATOR(bpr_loss_grad, grad::DefineBprGrad);
REGISTER_CPU_KERNEL(bpr_loss_grad, grad::BprGradKernel, float, double);
REGISTER_OPERATOR(bpr_loss_grad_grad, grad_grad::DefineBprGradGrad);
REGISTER_CPU_KERNEL(bpr_loss_grad_grad, grad_grad::BprGradGradKernel, float, double);
REGISTER_THIRD_GRADIENT(bpr_loss_grad_grad, BprThird);

}  // namespace
}  // namespace dygraph

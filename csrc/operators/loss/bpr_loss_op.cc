#include <cmath>

#include "kernels/fold.h"
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

// Rows of scores with their labels, which are checked.
template <class T>
struct Scores {
  Scores(const Tensor& x, const Tensor& label)
      : x(x.data<T>()),
        classes(label),
        rows(labels::ShapeOf(x.dims(), -1).outer),
        n(labels::ShapeOf(x.dims(), -1).n),
        share(T(1) / static_cast<T>(n - 1)) {
    classes.CheckAll(n);
  }
  const T* x;
  labels::ClassLabels classes;
  int64_t rows, n;
  T share;
};

template <class T>
DYGRAPH_INLINE T Logistic(T x) {
  T e = std::exp(-std::abs(x));
  return (x >= T(0) ? T(1) : e) / (T(1) + e);
}

template <class T>
struct BprKernel {
  static void Compute(KernelContext& ctx) {
    T* y = ctx.Out(kY).mutable_data<T>();
    const Scores<T> scores(ctx.In(kX), ctx.In(kLabel));
    kernels::ForEachRowPlain(
        scores.rows, scores.n,
        [=] DYGRAPH_FN(int64_t r, kernels::Team team) {
          const int64_t n = scores.n, label = scores.classes[r];
          const T *x = scores.x + r * n, share = scores.share;
          const T sum = kernels::Fold(
              team, n, T(0),
              [=](int64_t j) {
                const T d = x[j] - x[label];
                if (j == label) return T(0);
                return share * (std::log1p(std::exp(-std::abs(d))) + (d > T(0) ? d : T(0)));
              },
              kernels::Sum());
          team.Once([=] { y[r] = sum; });
        },
        30);
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
    const T* g = ctx.In(kYGrad).data<T>();
    T* dx = ctx.Out(kXGrad).mutable_data<T>();
    const Scores<T> scores(ctx.In(kX), ctx.In(kLabel));
    kernels::ForEachRowPlain(
        scores.rows, scores.n,
        [=] DYGRAPH_FN(int64_t r, kernels::Team team) {
          const int64_t n = scores.n, label = scores.classes[r];
          const T *x = scores.x + r * n, factor = g[r] * scores.share;
          T* to = dx + r * n;
          const T sum = kernels::Fold(
              team, n, T(0),
              [=](int64_t j) {
                if (j == label) return T(0);
                to[j] = factor * Logistic(x[j] - x[label]);
                return -to[j];
              },
              kernels::Sum());
          team.Once([=] { to[label] = sum; });
        },
        30);
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
      p.Set(0, r, sum * (1 / static_cast<double>(s.n - 1)));
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

// What a row gives the gradient of its loss, and the score of its label.
template <class T>
struct Results {
  T to_loss, to_label;
  DYGRAPH_INLINE Results operator+(Results b) const {
    return {to_loss + b.to_loss, to_label + b.to_label};
  }
};

template <class T>
struct BprGradGradKernel {
  static void Compute(KernelContext& ctx) {
    const T *g = ctx.In(kYGrad).data<T>(), *v = ctx.In(kV).data<T>();
    Tensor *to_x = ctx.OutOrNull(kXResult), *to_g = ctx.OutOrNull(kYGradResult);
    T *dx = to_x ? to_x->mutable_data<T>() : nullptr, *dg = to_g ? to_g->mutable_data<T>() : nullptr;
    const Scores<T> scores(ctx.In(kX), ctx.In(kLabel));
    kernels::ForEachRowPlain(
        scores.rows, scores.n,
        [=] DYGRAPH_FN(int64_t r, kernels::Team team) {
          const int64_t n = scores.n, label = scores.classes[r];
          const T *x = scores.x + r * n, *along = v + r * n, share = scores.share;
          T* to = dx ? dx + r * n : nullptr;
          const Results<T> sums = kernels::Fold(
              team, n, Results<T>{T(0), T(0)},
              [=](int64_t j) {
                if (j == label) return Results<T>{T(0), T(0)};
                const T d = x[j] - x[label], change = share * (along[j] - along[label]);
                const T bend = g[r] * change * Logistic(d) * Logistic(-d);
                if (to) to[j] = bend;
                return Results<T>{change * Logistic(d), -bend};
              },
              kernels::Sum());
          team.Once([=] {
            if (dg) dg[r] = sums.to_loss;
            if (to) to[label] = sums.to_label;
          });
        },
        60);
  }
};
}  // namespace grad_grad
using grad_grad::BprThird;

REGISTER_OPERATOR(bpr_loss, DefineBpr);
REGISTER_LOD_ALSO(bpr_loss, kLabel);
REGISTER_KERNELS(bpr_loss, BprKernel, float, double);
REGISTER_OPERATOR(bpr_loss_grad, grad::DefineBprGrad);
REGISTER_KERNELS(bpr_loss_grad, grad::BprGradKernel, float, double);
REGISTER_OPERATOR(bpr_loss_grad_grad, grad_grad::DefineBprGradGrad);
REGISTER_KERNELS(bpr_loss_grad_grad, grad_grad::BprGradGradKernel, float, double);
REGISTER_THIRD_GRADIENT(bpr_loss_grad_grad, BprThird);

}  // namespace
}  // namespace dygraph

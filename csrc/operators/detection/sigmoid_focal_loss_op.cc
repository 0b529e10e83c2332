#include <cmath>

#include "kernels/elementwise.h"
#include "kernels/table.h"
#include "op/gradient_call.h"
#include "operators/arguments.h"
#include "operators/detection/box_pairs.h"
#include "operators/higher_gradient.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kLabel = 1, kFgNum = 2, kOut = 0;

struct SigmoidFocalLossAttrs {
  double gamma = 2.0;
  double alpha = 0.25;
};

void CheckInputs(const InferContext& ctx) {
  const Dims &x = ctx.dims(kX), &label = ctx.dims(kLabel);
  ENFORCE(x.rank() == 2, InvalidArgument, "X must be scores [rows, classes], got shape ", x);
  ENFORCE(label.rank() == 2 && (label[1] == 1 || label[1] < 0) &&
              (label[0] == x[0] || !BothKnown(label[0], x[0])),
          InvalidArgument, "Label must be [rows, 1] for X ", x, ", got shape ", label);
  ENFORCE(ctx.dims(kFgNum).HasUnknown() || Numel(ctx.dims(kFgNum)) == 1, InvalidArgument,
          "FgNum must be one number, got shape ", ctx.dims(kFgNum));
}

void DefineSigmoidFocalLoss(OpDef& op) {
  op.Comment(
        "The focal loss of every class by itself (Lin et al., 2017), divided by max(FgNum, 1). "
        "With p = sigmoid(X): -alpha (1 - p)^gamma log(p) in column Label - 1, and -(1 - alpha) "
        "p^gamma log(1 - p) in the others. Label 0 is background; rows of label -1 are zeros.")
      .Example(
          ">>> x, label = to_variable([[0.0, 0.0]]), to_variable(np.array([[1]], \"int32\"))\n"
          ">>> loss = F.sigmoid_focal_loss(x, label, to_variable(np.array([1], \"int32\")))\n"
          ">>> (loss / np.log(2)).numpy().round(4).tolist()\n"
          "[[0.0625, 0.1875]]")
      .Input(kX, "X", "scores [rows, classes]")
      .Input(kLabel, "Label", "[rows, 1] int32 in [-1, classes]: 0 background, -1 ignored", kOnHost)
      .Input(kFgNum, "FgNum", "[1] int32, the number of rows with an object", kOnHost)
      .Output(kOut, "Out", "shape of X")
      .Attr(&SigmoidFocalLossAttrs::gamma, "gamma", "how much the sure ones are turned down",
            AtLeast(0))
      .Attr(&SigmoidFocalLossAttrs::alpha, "alpha", "the weight of the true class")
      .MixedDTypes()
      .KernelDTypeOf(kX)
      .Shape([](InferContext& ctx) {
        CheckInputs(ctx);
        ctx.SetOutput(kOut, ctx.dims(kX));
      })
      .ShareLoD(kX)
      .Grad(CallGradient);
}

// Calls f(position, whether its class is the true one, weight) but for ignored rows.
template <class T, class F>
void ForScores(const KernelContext& ctx, F f) {
  const auto& a = ctx.attrs<SigmoidFocalLossAttrs>();
  const Tensor& x = ctx.In(kX);
  const int64_t rows = x.dim(0), classes = x.dim(1);
  const std::vector<int64_t> labels = Integers(ctx.In(kLabel), "Label");
  for (int64_t label : labels) {
    ENFORCE(label >= -1 && label <= classes, OutOfRange, "Label must lie in [-1, ", classes,
            "], -1 ignored and 0 background, got ", label);
  }
  const T count = static_cast<T>(std::max<int64_t>(Integers(ctx.In(kFgNum), "FgNum")[0], 1));
  const T on = static_cast<T>(a.alpha) / count, off = (T(1) - static_cast<T>(a.alpha)) / count;
  kernels::Table<int64_t> table(labels);
  const int64_t* of = table.data();
  boxes::ForEachPair(
      rows, classes,
      [=] DYGRAPH_FN(int64_t r, int64_t c) {
        if (of[r] < 0) return;
        const bool is = of[r] == c + 1;
        f(r * classes + c, is, is ? on : off);
      },
      20);
}

// log(sigmoid(x))
template <class T>
DYGRAPH_INLINE T LogSigmoid(T x) {
  return (x < T(0) ? x : T(0)) - std::log1p(std::exp(-std::abs(x)));
}

template <class T>
struct SigmoidFocalLossKernel {
  static void Compute(KernelContext& ctx) {
    const T *x = ctx.In(kX).data<T>(),
            gamma = static_cast<T>(ctx.attrs<SigmoidFocalLossAttrs>().gamma);
    Tensor& out = ctx.Out(kOut);
    T* to = out.mutable_data<T>();
    kernels::Fill(to, out.numel(), T(0));
    ForScores<T>(ctx, [=] DYGRAPH_FN(int64_t at, bool is, T weight) {
      const T score = is ? x[at] : -x[at];  // of being right
      to[at] = -weight * std::exp(gamma * LogSigmoid(-score)) * LogSigmoid(score);
    });
  }
};

namespace grad {
constexpr int kTop = 3, kXGrad = 0;

void DefineSigmoidFocalLossGrad(OpDef& op) {
  op.Comment(
        "X@GRAD = Out@GRAD * weight * (1 - q)^gamma (gamma q log(q) - (1 - q)), q the probability "
        "of being right, with the other sign where the class is not the true one.")
      .Input(kX, "X", "as of the forward call")
      .Input(kLabel, "Label", "as of the forward call", kOnHost)
      .Input(kFgNum, "FgNum", "as of the forward call", kOnHost)
      .Input(kTop, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf("sigmoid_focal_loss")
      .MixedDTypes()
      .KernelDTypeOf(kX)
      .Shape([](InferContext& ctx) {
        CheckInputs(ctx);
        ctx.SetOutput(kXGrad, ctx.dims(kX));
      })
      .Grad(CallGradient);
}

template <class T>
struct SigmoidFocalLossGradKernel {
  static void Compute(KernelContext& ctx) {
    const T *x = ctx.In(kX).data<T>(), *top = ctx.In(kTop).data<T>(),
            gamma = static_cast<T>(ctx.attrs<SigmoidFocalLossAttrs>().gamma);
    Tensor& out = ctx.Out(kXGrad);
    T* to = out.mutable_data<T>();
    kernels::Fill(to, out.numel(), T(0));
    ForScores<T>(ctx, [=] DYGRAPH_FN(int64_t at, bool is, T weight) {
      const T score = is ? x[at] : -x[at], log_q = LogSigmoid(score), log_not = LogSigmoid(-score);
      const T slope =
          std::exp(gamma * log_not) * (gamma * std::exp(log_q) * log_q - std::exp(log_not));
      to[at] = top[at] * weight * (is ? slope : -slope);
    });
  }
};
}  // namespace grad

namespace grad_grad {
constexpr int kTop = 3, kV = 4, kXResult = 0, kTopResult = 1;

void DefineSigmoidFocalLossGradGrad(OpDef& op);

struct SigmoidFocalLossThird {
  static constexpr uint32_t kServes = higher::Slots(kX, kTop, kV);
  static void Define(OpDef& op) { DefineSigmoidFocalLossGradGrad(op); }
  static std::vector<higher::Input> Inputs(const KernelContext&) { return {{kX, kV, kXResult}}; }
  static std::vector<higher::Result> Results(const KernelContext&) { return {{kTop, kTopResult}}; }
  static void Run(higher::Problem& p) {
    return p.ctx.In(kX).dtype() == DType::kFloat64 ? RunFor<double>(p) : RunFor<float>(p);
  }
  template <class T>
  static void RunFor(higher::Problem& p) {
    const auto& a = p.ctx.attrs<SigmoidFocalLossAttrs>();
    const double gamma = NumberFor<T>(a.gamma), alpha = NumberFor<T>(a.alpha);
    const Dims& x = p.ctx.In(kX).dims();
    const std::vector<int64_t> labels = Integers(p.ctx.In(kLabel), "Label");
    const double count =
        static_cast<double>(std::max<int64_t>(Integers(p.ctx.In(kFgNum), "FgNum")[0], 1));
    for (int64_t at = 0; at < x[0] * x[1]; ++at) {
      const int64_t label = labels[at / x[1]];
      if (label < 0) continue;
      const bool is = label == at % x[1] + 1;
      higher::Scalar wrong = p.Leaf(0, at) * (is ? -1.0 : 1.0);  // log-odds of being wrong
      higher::Scalar loss = Exp(Softplus(wrong * -1.0) * -gamma) * Softplus(wrong);
      p.Set(0, at, loss * ((is ? alpha : 1 - alpha) / count));
      if (at % 4096 == 4095) p.Flush();
    }
  }
};

void DefineSigmoidFocalLossGradGrad(OpDef& op) {
  op.Comment("What sigmoid_focal_loss_grad gives X and Out@GRAD for V.")
      .Input(kX, "X", "as of the forward call")
      .Input(kLabel, "Label", "as of the forward call", kOnHost)
      .Input(kFgNum, "FgNum", "as of the forward call", kOnHost)
      .Input(kTop, "Out@GRAD", "shape of Out")
      .Input(kV, "X@GRAD@GRAD", "V, shape of X")
      .Output(kXResult, "X@GRAD", "shape of X")
      .Output(kTopResult, "Out@GRAD@GRAD", "shape of Out")
      .AttrsOf("sigmoid_focal_loss")
      .MixedDTypes()
      .KernelDTypeOf(kX)
      .Shape([](InferContext& ctx) {
        CheckInputs(ctx);
        ctx.SetOutput(kXResult, ctx.dims(kX));
        ctx.SetOutput(kTopResult, ctx.dims(kX));
      })
      .Grad(higher::Recipe<SigmoidFocalLossThird>);
}

template <class T>
using SigmoidFocalLossGradGradKernel = higher::SecondKernel<SigmoidFocalLossThird, T>;
}  // namespace grad_grad
using grad_grad::SigmoidFocalLossThird;

REGISTER_OPERATOR(sigmoid_focal_loss, DefineSigmoidFocalLoss);
REGISTER_KERNELS(sigmoid_focal_loss, SigmoidFocalLossKernel, float, double);
REGISTER_OPERATOR(sigmoid_focal_loss_grad, grad::DefineSigmoidFocalLossGrad);
REGISTER_KERNELS(sigmoid_focal_loss_grad, grad::SigmoidFocalLossGradKernel, float, double);
REGISTER_OPERATOR(sigmoid_focal_loss_grad_grad, grad_grad::DefineSigmoidFocalLossGradGrad);
REGISTER_CPU_KERNEL(sigmoid_focal_loss_grad_grad, grad_grad::SigmoidFocalLossGradGradKernel, float,
                    double);
REGISTER_THIRD_GRADIENT(sigmoid_focal_loss_grad_grad, SigmoidFocalLossThird);

}  // namespace
}  // namespace dygraph

#include "op/lod_rule.h"
#include "operators/loss/pointwise_loss.h"

namespace dygraph::pointwise_loss {
namespace {

struct LogLossAttrs {
  double epsilon = 1e-4;
};

struct LogLoss {
  static constexpr bool kStraight = false, kHot = true;
  static constexpr auto kCurve = pointwise_loss::Curve::kOther;
  static constexpr const char *kType = "log_loss", *kScore = "Predicted", *kLabel = "Labels",
                              *kLoss = "Loss";
  using Attrs = LogLossAttrs;
  static void AddAttrs(OpDef& op) {
    op.Attr(&LogLossAttrs::epsilon, "epsilon", "added inside both logarithms");
  }
  template <class T>
  struct Fn {
    T e;
    Fn(const KernelContext& ctx, const T*, const T*, int64_t)
        : e(static_cast<T>(ctx.attrs<LogLossAttrs>().epsilon)) {}
    DYGRAPH_BOTH T Value(T p, T y) const {
      return -(y * kernels::Log(p + e)) - (T(1) - y) * kernels::Log(T(1) - p + e);
    }
    DYGRAPH_BOTH T Slope(T p, T y) const { return -(y / (p + e)) + (T(1) - y) / (T(1) - p + e); }
    DYGRAPH_BOTH T Curve(T p, T y) const {
      T a = p + e, b = T(1) - p + e;
      return y / (a * a) + (T(1) - y) / (b * b);
    }
    DYGRAPH_BOTH T Bend(T p, T y) const {
      T a = p + e, b = T(1) - p + e;
      return 2 * (T(1) - y) / (b * b * b) - 2 * y / (a * a * a);
    }
  };
};

void DefineLogLoss(OpDef& op) {
  Loss<LogLoss>::Define(op,
                        "Loss = -Labels * log(Predicted + epsilon) - (1 - Labels) * log(1 - "
                        "Predicted + epsilon). Labels get no gradient.",
                        "probabilities, any shape", "0 or 1, shape of Predicted");
  op.Example(
      ">>> loss = F.log_loss(to_variable([[0.5], [0.5]]), to_variable([[1.0], [0.0]]))\n"
      ">>> [round(v, 4) for v in loss.numpy().ravel().tolist()]  # -log(0.5 + 0.0001)\n"
      "[0.6929, 0.6929]");
}

template <class T>
using LogLossKernel = Loss<LogLoss>::Kernel<T>;
template <class T>
using LogLossGradKernel = Loss<LogLoss>::GradKernel<T>;
template <class T>
using LogLossGradGradKernel = Loss<LogLoss>::GradGradKernel<T>;
template <class T>
using LogLossThirdKernel = Loss<LogLoss>::ThirdKernel<T>;

REGISTER_OPERATOR(log_loss, DefineLogLoss);
REGISTER_LOD_ALSO(log_loss, kLabel);
REGISTER_KERNELS(log_loss, LogLossKernel, float, double);
REGISTER_OPERATOR(log_loss_grad, Loss<LogLoss>::DefineGrad);
REGISTER_KERNELS(log_loss_grad, LogLossGradKernel, float, double);
REGISTER_OPERATOR(log_loss_grad_grad, Loss<LogLoss>::DefineGradGrad);
REGISTER_KERNELS(log_loss_grad_grad, LogLossGradGradKernel, float, double);
REGISTER_OPERATOR(log_loss_grad_grad_grad, Loss<LogLoss>::DefineThird);
REGISTER_KERNELS(log_loss_grad_grad_grad, LogLossThirdKernel, float, double);

}  // namespace
}  // namespace dygraph::pointwise_loss

#include "op/lod_rule.h"
#include "operators/loss/difference_loss.h"

namespace dygraph::difference_loss {
namespace {

struct HuberAttrs {
  double delta = 1.0;
};

struct HuberLoss {
  static constexpr bool kLabelFirst = false, kStraight = false;
  static constexpr auto kCurve = pointwise_loss::Curve::kFlat;
  static constexpr const char *kType = "huber_loss", *kA = "X", *kB = "Y", *kLabel = nullptr,
                              *kExtra = "Residual", *kLoss = "Out";
  using Attrs = HuberAttrs;
  static void AddAttrs(OpDef& op) {
    op.Attr(&HuberAttrs::delta, "delta", "where the square ends, above 0",
            [](const std::string& name, const AttrValue& value) {
              ENFORCE(NumberOf(value) > 0, InvalidArgument, name, " must be above 0, got ",
                      ToString(value));
            });
  }
  template <class T>
  struct Fn {
    T delta;
    explicit Fn(const KernelContext& ctx) : delta(static_cast<T>(ctx.attrs<HuberAttrs>().delta)) {
      ENFORCE(delta > 0, InvalidArgument, "delta must be above 0 in ", DTypeOf<T>::value, ", got ",
              ToString(FloatValue(ctx.attrs<HuberAttrs>().delta)));
    }
    DYGRAPH_BOTH T Extra(T d, T) const { return -d; }
    DYGRAPH_BOTH T Value(T d, T) const {
      T r = std::abs(d);
      return r <= delta ? T(0.5) * r * r : delta * (r - T(0.5) * delta);
    }
    DYGRAPH_BOTH T Slope(T d, T) const { return d > delta ? delta : d < -delta ? -delta : d; }
    DYGRAPH_BOTH T Curve(T d, T) const { return std::abs(d) <= delta ? T(1) : T(0); }
  };
};

void DefineHuberLoss(OpDef& op) {
  Loss<HuberLoss>::Define(
      op,
      "With Residual = Y - X: Out = Residual^2 / 2 where |Residual| <= delta, else delta * "
      "(|Residual| - delta / 2).",
      "predictions, any shape", nullptr);
  op.Example(
      ">>> F.huber_loss(to_variable([0.0, 0.0]), to_variable([0.5, 3.0])).tolist()\n"
      "[0.125, 2.5]");
}

template <class T>
using HuberLossKernel = Loss<HuberLoss>::Kernel<T>;
template <class T>
using HuberLossGradKernel = Loss<HuberLoss>::GradKernel<T>;
template <class T>
using HuberLossGradGradKernel = Loss<HuberLoss>::GradGradKernel<T>;

REGISTER_OPERATOR(huber_loss, DefineHuberLoss);
REGISTER_LOD_ALSO(huber_loss, Loss<HuberLoss>::kB);
REGISTER_KERNELS(huber_loss, HuberLossKernel, float, double);
REGISTER_OPERATOR(huber_loss_grad, Loss<HuberLoss>::DefineGrad);
REGISTER_KERNELS(huber_loss_grad, HuberLossGradKernel, float, double);
REGISTER_OPERATOR(huber_loss_grad_grad, Loss<HuberLoss>::DefineGradGrad);
REGISTER_KERNELS(huber_loss_grad_grad, HuberLossGradGradKernel, float, double);

}  // namespace
}  // namespace dygraph::difference_loss

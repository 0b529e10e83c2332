#include "op/lod_rule.h"
#include "operators/loss/pointwise_loss.h"

namespace dygraph::pointwise_loss {
namespace {

struct HingeLoss {
  static constexpr bool kStraight = true;
  static constexpr auto kCurve = pointwise_loss::Curve::kFlat;
  static constexpr const char *kType = "hinge_loss", *kScore = "Logits", *kLabel = "Labels",
                              *kLoss = "Loss";
  using Attrs = void;
  template <class T>
  struct Fn {
    Fn(const KernelContext&, const T*, const T*, int64_t) {}
    DYGRAPH_BOTH T Value(T x, T y) const {
      T v = T(1) - (T(2) * y - T(1)) * x;
      return v < T(0) ? T(0) : v;
    }
    DYGRAPH_BOTH T Slope(T x, T y) const {
      T sign = T(2) * y - T(1);
      return T(1) - sign * x > T(0) ? -sign : T(0);
    }
  };
};

void DefineHingeLoss(OpDef& op) {
  Loss<HingeLoss>::Define(op,
                          "Loss = max(0, 1 - (2 * Labels - 1) * Logits). Labels get no gradient.",
                          "scores, any shape", "0 or 1, shape of Logits");
  op.Example(
      ">>> scores, labels = to_variable([2.0, 0.5, 0.5]), to_variable([1.0, 1.0, 0.0])\n"
      ">>> F.hinge_loss(scores, labels).tolist()\n"
      "[0.0, 0.5, 1.5]");
}

template <class T>
using HingeLossKernel = Loss<HingeLoss>::Kernel<T>;
template <class T>
using HingeLossGradKernel = Loss<HingeLoss>::GradKernel<T>;

REGISTER_OPERATOR(hinge_loss, DefineHingeLoss);
REGISTER_LOD_ALSO(hinge_loss, kLabel);
REGISTER_KERNELS(hinge_loss, HingeLossKernel, float, double);
REGISTER_OPERATOR(hinge_loss_grad, Loss<HingeLoss>::DefineGrad);
REGISTER_KERNELS(hinge_loss_grad, HingeLossGradKernel, float, double);

}  // namespace
}  // namespace dygraph::pointwise_loss

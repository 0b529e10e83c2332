#include "kernels/value_check.h"
#include "op/lod_rule.h"
#include "operators/loss/pointwise_loss.h"

namespace dygraph::pointwise_loss {
namespace {

struct BceLoss {
  static constexpr bool kStraight = false, kHot = true;
  static constexpr auto kCurve = pointwise_loss::Curve::kOther;
  static constexpr const char *kType = "bce_loss", *kScore = "X", *kLabel = "Label", *kLoss = "Out";
  using Attrs = void;
  template <class T>
  struct Fn {
    static constexpr T kLeast = T(1e-12);  // of x (1 - x), by which the gradient is divided
    Fn(const KernelContext&, const T* x, const T*, int64_t n) { CheckProbabilities(x, n); }
    static void CheckProbabilities(const T* x, int64_t n) {
      kernels::CheckEach(
          x, n, [] DYGRAPH_FN(T v) { return !(v < T(0) || v > T(1)); },
          "X must hold probabilities in [0, 1], got %. Scores go into "
          "sigmoid_cross_entropy_with_logits");
    }
    DYGRAPH_BOTH static T Log(T p) {
      T log = kernels::Log(p);
      return log < T(-100) ? T(-100) : log;
    }
    DYGRAPH_BOTH T Value(T x, T y) const { return (y - T(1)) * Log(T(1) - x) - y * Log(x); }
    DYGRAPH_BOTH T Slope(T x, T y) const {
      T product = x * (T(1) - x);
      return (x - y) / (product < kLeast ? kLeast : product);
    }
    DYGRAPH_BOTH T Curve(T x, T y) const {
      T product = x * (T(1) - x);
      T curve = (product - (x - y) * (T(1) - 2 * x)) / (product * product);
      return product < kLeast ? T(1) / kLeast : curve;
    }
    DYGRAPH_BOTH T Bend(T x, T y) const {
      T z = T(1) - x, bend = 2 * (T(1) - y) / (z * z * z) - 2 * y / (x * x * x);
      return x * z < kLeast ? T(0) : bend;
    }
  };
};

void DefineBceLoss(OpDef& op) {
  Loss<BceLoss>::Define(op,
                        "Out = -Label * log(X) - (1 - Label) * log(1 - X), where a logarithm is at "
                        "least -100. Label gets no gradient.",
                        "probabilities, any shape", "probabilities, shape of X");
  op.Example(
      ">>> loss = F.bce_loss(to_variable([0.5, 0.9]), to_variable([1.0, 0.0]))\n"
      ">>> [round(v, 4) for v in loss.tolist()]  # -log(0.5), -log(1 - 0.9)\n"
      "[0.6931, 2.3026]");
}

template <class T>
using BceLossKernel = Loss<BceLoss>::Kernel<T>;
template <class T>
using BceLossGradKernel = Loss<BceLoss>::GradKernel<T>;
template <class T>
using BceLossGradGradKernel = Loss<BceLoss>::GradGradKernel<T>;
template <class T>
using BceLossThirdKernel = Loss<BceLoss>::ThirdKernel<T>;

REGISTER_OPERATOR(bce_loss, DefineBceLoss);
REGISTER_LOD_ALSO(bce_loss, kLabel);
REGISTER_KERNELS(bce_loss, BceLossKernel, float, double);
REGISTER_OPERATOR(bce_loss_grad, Loss<BceLoss>::DefineGrad);
REGISTER_KERNELS(bce_loss_grad, BceLossGradKernel, float, double);
REGISTER_OPERATOR(bce_loss_grad_grad, Loss<BceLoss>::DefineGradGrad);
REGISTER_KERNELS(bce_loss_grad_grad, BceLossGradGradKernel, float, double);
REGISTER_OPERATOR(bce_loss_grad_grad_grad, Loss<BceLoss>::DefineThird);
REGISTER_KERNELS(bce_loss_grad_grad_grad, BceLossThirdKernel, float, double);

}  // namespace
}  // namespace dygraph::pointwise_loss

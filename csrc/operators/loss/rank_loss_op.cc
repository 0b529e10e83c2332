#include "op/lod_rule.h"
#include "operators/loss/difference_loss.h"

namespace dygraph::difference_loss {
namespace {

struct RankLoss {
  static constexpr bool kLabelFirst = true, kStraight = false, kColumns = true;
  static constexpr auto kCurve = pointwise_loss::Curve::kLogistic;
  static constexpr const char *kType = "rank_loss", *kA = "Left", *kB = "Right", *kLabel = "Label",
                              *kExtra = nullptr, *kLoss = "Out";
  using Attrs = void;
  template <class T>
  struct Fn {
    explicit Fn(const KernelContext&) {}
    DYGRAPH_BOTH T Value(T d, T y) const { return kernels::Softplus(d) - y * d; }
    DYGRAPH_BOTH T Slope(T d, T y) const { return kernels::Sigmoid(d) - y; }
    DYGRAPH_BOTH T Curve(T d, T) const { return kernels::Sigmoid(d) * kernels::Sigmoid(-d); }
  };
};

void DefineRankLoss(OpDef& op) {
  Loss<RankLoss>::Define(op,
                         "Out = log(1 + exp(Left - Right)) - Label * (Left - Right): RankNet "
                         "(Burges et al., 2005). Label gets no gradient.",
                         "scores, any shape; [n] and [n, 1] may be mixed",
                         "1 where Left ranks higher, 0 where Right does");
  op.Example(
      ">>> label, left, right = (to_variable([v]) for v in (1.0, 2.0, 1.0))\n"
      ">>> round(F.rank_loss(label, left, right).item(), 4)  # log(1 + e) - 1\n"
      "0.3133");
}

template <class T>
using RankLossKernel = Loss<RankLoss>::Kernel<T>;
template <class T>
using RankLossGradKernel = Loss<RankLoss>::GradKernel<T>;
template <class T>
using RankLossGradGradKernel = Loss<RankLoss>::GradGradKernel<T>;

REGISTER_OPERATOR(rank_loss, DefineRankLoss);
REGISTER_LOD_ALSO(rank_loss, Loss<RankLoss>::kB, Loss<RankLoss>::kLabel);
REGISTER_LOD_RULE(rank_loss, RowsOfFirstAxis);
REGISTER_KERNELS(rank_loss, RankLossKernel, float, double);
REGISTER_OPERATOR(rank_loss_grad, Loss<RankLoss>::DefineGrad);
REGISTER_KERNELS(rank_loss_grad, RankLossGradKernel, float, double);
REGISTER_OPERATOR(rank_loss_grad_grad, Loss<RankLoss>::DefineGradGrad);
REGISTER_KERNELS(rank_loss_grad_grad, RankLossGradGradKernel, float, double);

}  // namespace
}  // namespace dygraph::difference_loss

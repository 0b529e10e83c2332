#include "op/lod_rule.h"
#include "operators/loss/difference_loss.h"

namespace dygraph::difference_loss {
namespace {

struct MarginAttrs {
  double margin = 0.0;
};

struct MarginRankLoss {
  static constexpr bool kLabelFirst = false, kStraight = true;
  static constexpr auto kCurve = pointwise_loss::Curve::kFlat;
  static constexpr const char *kType = "margin_rank_loss", *kA = "X1", *kB = "X2",
                              *kLabel = "Label", *kExtra = "Activated", *kLoss = "Out";
  using Attrs = MarginAttrs;
  static void AddAttrs(OpDef& op) {
    op.Attr(&MarginAttrs::margin, "margin", "the least difference that costs nothing");
  }
  template <class T>
  struct Fn {
    T margin;
    explicit Fn(const KernelContext& ctx)
        : margin(static_cast<T>(ctx.attrs<MarginAttrs>().margin)) {}
    DYGRAPH_BOTH T Value(T d, T y) const {
      T v = margin - y * d;
      return v < T(0) ? T(0) : v;
    }
    DYGRAPH_BOTH T Extra(T d, T y) const { return margin - y * d > T(0) ? T(1) : T(0); }
    DYGRAPH_BOTH T Slope(T d, T y) const { return -y * Extra(d, y); }
  };
};

void DefineMarginRankLoss(OpDef& op) {
  Loss<MarginRankLoss>::Define(
      op,
      "Out = max(0, margin - Label * (X1 - X2)); Activated is 1 where Out is above 0. Label gets "
      "no gradient.",
      "scores, any shape", "1 where X1 ranks higher, -1 where X2 does");
  op.Example(
      ">>> better, worse = to_variable([2.0, 1.0]), to_variable([1.0, 3.0])\n"
      ">>> F.margin_rank_loss(better, worse, to_variable([1.0, 1.0]), margin=0.5).tolist()\n"
      "[0.0, 2.5]");
}

template <class T>
using MarginRankLossKernel = Loss<MarginRankLoss>::Kernel<T>;
template <class T>
using MarginRankLossGradKernel = Loss<MarginRankLoss>::GradKernel<T>;

REGISTER_OPERATOR(margin_rank_loss, DefineMarginRankLoss);
REGISTER_LOD_ALSO(margin_rank_loss, Loss<MarginRankLoss>::kB, Loss<MarginRankLoss>::kLabel);
REGISTER_KERNELS(margin_rank_loss, MarginRankLossKernel, float, double);
REGISTER_OPERATOR(margin_rank_loss_grad, Loss<MarginRankLoss>::DefineGrad);
REGISTER_KERNELS(margin_rank_loss_grad, MarginRankLossGradKernel, float, double);

}  // namespace
}  // namespace dygraph::difference_loss

#include <optional>

#include "kernels/fold.h"
#include "op/lod_rule.h"
#include "op/number.h"
#include "operators/loss/pointwise_loss.h"

namespace dygraph::pointwise_loss {
namespace {

struct LogitsAttrs {
  bool normalize = false;
  int32_t ignore_index = -100;
};

struct LogitsLoss {
  static constexpr bool kStraight = false, kHot = true;
  static constexpr auto kCurve = pointwise_loss::Curve::kLogistic;
  static constexpr const char *kType = "sigmoid_cross_entropy_with_logits", *kScore = "X",
                              *kLabel = "Label", *kLoss = "Out";
  using Attrs = LogitsAttrs;
  static void AddAttrs(OpDef& op) {
    op.Attr(&LogitsAttrs::normalize, "normalize", "divide by the number of Labels not ignored")
        .Attr(&LogitsAttrs::ignore_index, "ignore_index", "a Label without loss or gradient");
  }
  template <class T>
  struct Fn {
    T ignored;
    std::optional<Number<T>> factor;  // none: 1
    Fn(const KernelContext& ctx, const T*, const T* label, int64_t n)
        : ignored(static_cast<T>(ctx.attrs<LogitsAttrs>().ignore_index)) {
      if (!ctx.attrs<LogitsAttrs>().normalize) return;
      Tensor share({1}, DTypeOf<T>::value, ctx.place());
      ShareOfOne(label, n, ignored, share.mutable_data<T>());
      factor.emplace(share);
    }
    // 1 / the number of labels that are not left out.
    static void ShareOfOne(const T* label, int64_t n, T left_out, T* share) {
      kernels::FoldAll(
          n, int64_t{0},
          [=] DYGRAPH_FN(int64_t i) { return static_cast<int64_t>(label[i] != left_out); },
          kernels::Sum(),
          [=] DYGRAPH_FN(int64_t kept) { *share = T(1) / static_cast<T>(kept > 1 ? kept : 1); });
    }
    DYGRAPH_BOTH T FactorOf(T y) const { return y == ignored ? T(0) : factor ? (*factor)() : T(1); }
    // 0 where it is ignored, so that 0 times what comes of it is 0.
    DYGRAPH_BOTH T Kept(T x, T y) const { return y == ignored ? T(0) : x; }
    DYGRAPH_BOTH T Value(T x, T y) const {
      // Of the two equal forms the one whose terms do not cancel for labels of 0 and 1.
      T kept = Kept(x, y), z = y == T(1) ? -kept : kept, less = y == T(1) ? T(0) : kept * y;
      return FactorOf(y) * (kernels::Softplus(z) - less);
    }
    DYGRAPH_BOTH T Slope(T x, T y) const {
      return FactorOf(y) * (kernels::Sigmoid(Kept(x, y)) - Kept(y, y));
    }
    DYGRAPH_BOTH T Curve(T x, T y) const {
      T kept = Kept(x, y);
      return FactorOf(y) * kernels::Sigmoid(kept) * kernels::Sigmoid(-kept);
    }
  };
};

void DefineLogitsLoss(OpDef& op) {
  Loss<LogitsLoss>::Define(
      op,
      "Out = max(X, 0) - X * Label + log(1 + exp(-|X|)), the cross entropy of Label and "
      "sigmoid(X); 0 where Label is ignore_index. Label gets no gradient.",
      "scores, any shape", "probabilities, shape of X");
  op.Example(
      ">>> x, label = to_variable([0.0, 2.0, 2.0]), to_variable([1.0, 1.0, 0.0])\n"
      ">>> [round(v, 4) for v in F.sigmoid_cross_entropy_with_logits(x, label).tolist()]\n"
      "[0.6931, 0.1269, 2.1269]");
}

template <class T>
using LogitsLossKernel = Loss<LogitsLoss>::Kernel<T>;
template <class T>
using LogitsLossGradKernel = Loss<LogitsLoss>::GradKernel<T>;
template <class T>
using LogitsLossGradGradKernel = Loss<LogitsLoss>::GradGradKernel<T>;

REGISTER_OPERATOR(sigmoid_cross_entropy_with_logits, DefineLogitsLoss);
REGISTER_LOD_ALSO(sigmoid_cross_entropy_with_logits, kLabel);
REGISTER_KERNELS(sigmoid_cross_entropy_with_logits, LogitsLossKernel, float, double);
REGISTER_OPERATOR(sigmoid_cross_entropy_with_logits_grad, Loss<LogitsLoss>::DefineGrad);
REGISTER_KERNELS(sigmoid_cross_entropy_with_logits_grad, LogitsLossGradKernel, float, double);
REGISTER_OPERATOR(sigmoid_cross_entropy_with_logits_grad_grad, Loss<LogitsLoss>::DefineGradGrad);
REGISTER_KERNELS(sigmoid_cross_entropy_with_logits_grad_grad, LogitsLossGradGradKernel, float,
                 double);

}  // namespace
}  // namespace dygraph::pointwise_loss

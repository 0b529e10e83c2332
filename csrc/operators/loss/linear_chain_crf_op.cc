#include <cmath>

#include "op/gradient_call.h"
#include "operators/higher_gradient.h"
#include "operators/loss/crf.h"
#include "platform/interrupt.h"

namespace dygraph::crf {
namespace {

constexpr int kAlpha = 0, kEmissionExps = 1, kTransitionExps = 2, kLogLikelihood = 3;

OpDef& AddInputs(OpDef& op) {
  return op.Input(kEmission, "Emission", "scores of the tags, [total, D] with LoD or [N, T, D]")
      .Input(kTransition, "Transition", "[D + 2, D]: first tag, last tag, from each tag to each")
      .Input(kLabel, "Label", "int64 or int32 tags, [total, 1] or [N, T]")
      .Input(kLength, "Length", "[N, 1] integers, for padded Emission", kDispensable);
}

void DefineCrf(OpDef& op) {
  AddInputs(
      op.Comment("LogLikelihood = log(sum over all chains of exp(score)) - score of Label: "
                 "minus the logarithm of Label's probability, a cost (Lafferty et al., "
                 "2001). The score of a chain adds Emission at each step, Transition[2 + i, "
                 "j] from tag i to tag j, Transition[0] of the first tag and Transition[1] "
                 "of the last. An empty sequence costs 0.")
          .Example(">>> emission = to_variable(np.zeros((1, 2, 2)))  # two steps, two tags\n"
                   ">>> transition, length = to_variable(np.zeros((4, 2))), to_variable([[2]])\n"
                   ">>> cost = F.linear_chain_crf(\n"
                   "...     emission, transition, to_variable([[0, 1]]), length=length)\n"
                   ">>> round(cost.item(), 4)  # four chains, equally good: log(4)\n"
                   "1.3863"))
      .Output(kAlpha, "Alpha", "forward probabilities of each step, normalised", kIntermediate)
      .Output(kEmissionExps, "EmissionExps", "exp(Emission - its row's maximum)", kIntermediate)
      .Output(kTransitionExps, "TransitionExps", "exp(Transition)", kIntermediate)
      .Output(kLogLikelihood, "LogLikelihood", "[N, 1]")
      .MixedDTypes()
      .KernelDTypeOf(kEmission)
      .Shape([](InferContext& ctx) {
        int64_t count = CheckInputs(ctx);
        ctx.SetOutput(kAlpha, ctx.dims(kEmission));
        ctx.SetOutput(kEmissionExps, ctx.dims(kEmission));
        ctx.SetOutput(kTransitionExps, ctx.dims(kTransition));
        ctx.SetOutput(kLogLikelihood, {count, 1});
      })
      .Grad(CallGradient);
}

double LogSum(const double* v, int64_t n) {
  double most = *std::max_element(v, v + n), sum = 0;
  if (std::isinf(most)) return most;
  for (int64_t i = 0; i < n; ++i) sum += std::exp(v[i] - most);
  return most + std::log(sum);
}

// One sequence: `x(t)` is the row of emissions of step t, `w` the transitions.
template <class T, class X>
std::vector<double> Forward(const T* w, int64_t tags, int64_t steps, X x) {
  std::vector<double> alpha(static_cast<size_t>(steps * tags)), sums(static_cast<size_t>(tags));
  for (int64_t k = 0; k < tags; ++k) alpha[k] = double{w[k]} + x(0)[k];
  for (int64_t t = 1; t < steps; ++t) {
    const double* before = alpha.data() + (t - 1) * tags;
    for (int64_t k = 0; k < tags; ++k) {
      CheckInterrupt();
      for (int64_t i = 0; i < tags; ++i) sums[i] = before[i] + w[(2 + i) * tags + k];
      alpha[t * tags + k] = x(t)[k] + LogSum(sums.data(), tags);
    }
  }
  return alpha;
}

template <class T>
double Total(const T* w, int64_t tags, const double* last) {
  std::vector<double> sums(static_cast<size_t>(tags));
  for (int64_t k = 0; k < tags; ++k) sums[k] = last[k] + w[tags + k];
  return LogSum(sums.data(), tags);
}

template <class T>
struct CrfKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kEmission), &transition = ctx.In(kTransition);
    int64_t tags = transition.dim(1);
    ragged::Batch b = Read(ctx);
    labels::ClassLabels label(ctx.In(kLabel));
    CheckLabels(label, b, tags);
    const T *xd = x.data<T>(), *w = transition.data<T>();
    Tensor *alpha = ctx.OutOrNull(kAlpha), *out = ctx.OutOrNull(kLogLikelihood);
    T* ad = alpha ? alpha->mutable_data<T>() : nullptr;
    if (ad) std::fill(ad, ad + x.numel(), T(0));
    Exps(x, tags, transition, ctx);
    for (int64_t s = 0; s < b.size(); ++s) {
      int64_t steps = b.length[s];
      double cost = 0;
      if (steps > 0) {
        auto row = [&](int64_t t) { return xd + b.Row(s, t) * tags; };
        std::vector<double> a = Forward(w, tags, steps, row);
        cost = Total(w, tags, a.data() + (steps - 1) * tags);
        int64_t first = label[b.Row(s, 0)], last = label[b.Row(s, steps - 1)];
        cost -= double{w[first]} + w[tags + last];
        for (int64_t t = 0; t < steps; ++t) {
          int64_t k = label[b.Row(s, t)];
          cost -= row(t)[k];
          if (t > 0) cost -= w[(2 + label[b.Row(s, t - 1)]) * tags + k];
          double sum = LogSum(a.data() + t * tags, tags);
          for (int64_t i = 0; ad && i < tags; ++i)
            ad[b.Row(s, t) * tags + i] = static_cast<T>(std::exp(a[t * tags + i] - sum));
        }
      }
      if (out) out->mutable_data<T>()[s] = static_cast<T>(cost);
    }
  }
  static void Exps(const Tensor& x, int64_t tags, const Tensor& transition, KernelContext& ctx) {
    if (Tensor* out = ctx.OutOrNull(kEmissionExps)) {
      const T* from = x.data<T>();
      T* to = out->mutable_data<T>();
      for (int64_t r = 0; r < x.numel() / tags; ++r) {
        T most = *std::max_element(from + r * tags, from + (r + 1) * tags);
        for (int64_t k = r * tags; k < (r + 1) * tags; ++k) to[k] = std::exp(from[k] - most);
      }
    }
    if (Tensor* out = ctx.OutOrNull(kTransitionExps)) {
      const T* from = transition.data<T>();
      T* to = out->mutable_data<T>();
      for (int64_t i = 0; i < transition.numel(); ++i) to[i] = std::exp(from[i]);
    }
  }
};

namespace grad {
constexpr int kCostGrad = 4, kEmissionGrad = 0, kTransitionGrad = 1;

void DefineCrfGrad(OpDef& op) {
  AddInputs(op.Comment("The probabilities of tags and of neighbouring pairs of tags, less what "
                       "Label has, times LogLikelihood@GRAD."))
      .Input(kCostGrad, "LogLikelihood@GRAD", "[N, 1]")
      .Output(kEmissionGrad, "Emission@GRAD", "shape of Emission")
      .Output(kTransitionGrad, "Transition@GRAD", "shape of Transition")
      .MixedDTypes()
      .KernelDTypeOf(kEmission)
      .Shape([](InferContext& ctx) {
        CheckInputs(ctx);
        ctx.SetOutput(kEmissionGrad, ctx.dims(kEmission));
        ctx.SetOutput(kTransitionGrad, ctx.dims(kTransition));
      })
      .Grad(CallGradient);
}

template <class T>
struct CrfGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kEmission), &transition = ctx.In(kTransition);
    const Tensor& cost = ctx.In(kCostGrad);
    int64_t tags = transition.dim(1);
    ragged::Batch b = Read(ctx);
    ENFORCE(cost.numel() == b.size(), InvalidArgument,
            "LogLikelihood@GRAD must hold one number for each of the ", b.size(),
            " sequences, got shape ", cost.dims());
    labels::ClassLabels label(ctx.In(kLabel));
    CheckLabels(label, b, tags);
    Tensor *to_x = ctx.OutOrNull(kEmissionGrad), *to_w = ctx.OutOrNull(kTransitionGrad);
    T* dx = to_x ? to_x->mutable_data<T>() : nullptr;
    if (dx) std::fill(dx, dx + x.numel(), T(0));
    std::vector<double> dw(static_cast<size_t>(transition.numel()), 0.0);
    for (int64_t s = 0; s < b.size(); ++s) {
      if (b.length[s] > 0)
        Sequence(x.data<T>(), transition.data<T>(), tags, label, b, s, double{cost.data<T>()[s]},
                 dx, dw.data());
    }
    if (!to_w) return;
    T* to = to_w->mutable_data<T>();
    for (size_t i = 0; i < dw.size(); ++i) to[i] = static_cast<T>(dw[i]);
  }

  static void Sequence(const T* xd, const T* w, int64_t tags, const labels::ClassLabels& label,
                       const ragged::Batch& b, int64_t s, double g, T* dx, double* dw) {
    int64_t steps = b.length[s];
    auto row = [&](int64_t t) { return xd + b.Row(s, t) * tags; };
    std::vector<double> alpha = Forward(w, tags, steps, row);
    double total = Total(w, tags, alpha.data() + (steps - 1) * tags);
    std::vector<double> beta(w + tags, w + 2 * tags), before(beta.size()), sums(beta.size());
    for (int64_t t = steps - 1; t >= 0; --t) {
      const double* a = alpha.data() + t * tags;
      int64_t here = label[b.Row(s, t)];
      for (int64_t k = 0; k < tags; ++k) {
        double p = g * (std::exp(a[k] + beta[k] - total) - (k == here ? 1 : 0));
        if (dx) dx[b.Row(s, t) * tags + k] = static_cast<T>(p);
        if (t == 0) dw[k] += p;
        if (t == steps - 1) dw[tags + k] += p;
      }
      if (t == 0) break;
      const double* earlier = a - tags;
      for (int64_t i = 0; i < tags; ++i) {
        CheckInterrupt();
        for (int64_t k = 0; k < tags; ++k) {
          sums[k] = w[(2 + i) * tags + k] + row(t)[k] + beta[k];
          dw[(2 + i) * tags + k] += g * std::exp(earlier[i] + sums[k] - total);
        }
        before[i] = LogSum(sums.data(), tags);
      }
      dw[(2 + label[b.Row(s, t - 1)]) * tags + here] -= g;
      beta.swap(before);
    }
  }
};
}  // namespace grad

// Both are made by the forward pass on single numbers.
namespace grad_grad {
constexpr int kCostGrad = 4, kAlongEmission = 5, kAlongTransition = 6;
constexpr int kToEmission = 0, kToTransition = 1, kToCostGrad = 2;

void DefineCrfGradGrad(OpDef& op);

struct CrfHigher {
  static constexpr uint32_t kServes =
      higher::Slots(kEmission, kTransition, kCostGrad, kAlongEmission, kAlongTransition);
  static void Define(OpDef& op) { DefineCrfGradGrad(op); }
  static std::vector<higher::Input> Inputs(const KernelContext&) {
    return {{kEmission, kAlongEmission, kToEmission},
            {kTransition, kAlongTransition, kToTransition}};
  }
  static std::vector<higher::Result> Results(const KernelContext&) {
    return {{kCostGrad, kToCostGrad}};
  }
  static void Run(higher::Problem& p) {
    const int64_t tags = p.ctx.In(kTransition).dim(1);
    ragged::Batch b = Read(p.ctx);
    ENFORCE(p.ctx.In(kCostGrad).numel() == b.size(), InvalidArgument,
            "LogLikelihood@GRAD must hold one number for each of the ", b.size(),
            " sequences, got shape ", p.ctx.In(kCostGrad).dims());
    labels::ClassLabels label(p.ctx.In(kLabel));
    CheckLabels(label, b, tags);
    for (int64_t s = 0; s < b.size(); ++s) {
      if (b.length[s] == 0) continue;
      Sequence(p, tags, label, b, s);
      p.Flush();
    }
  }
  static void Sequence(higher::Problem& p, int64_t tags, const labels::ClassLabels& label,
                       const ragged::Batch& b, int64_t s) {
    using higher::Scalar;
    const int64_t steps = b.length[s];
    std::vector<Scalar> w = p.Leaves(1, 0, (tags + 2) * tags), alpha(tags), next(tags);
    Scalar score, total;  // of Label, and of all chains
    for (int64_t t = 0; t < steps; ++t) {
      std::vector<Scalar> x = p.Leaves(0, b.Row(s, t) * tags, tags);
      const int64_t here = label[b.Row(s, t)];
      const int64_t from = t ? 2 + label[b.Row(s, t - 1)] : 0;
      Scalar step = x[here] + w[from * tags + here];
      score = t ? score + step : step;
      for (int64_t k = 0; k < tags; ++k) {
        Scalar sum;
        for (int64_t i = 0; t && i < tags; ++i)
          sum = AddLogs(sum, alpha[i] + w[(2 + i) * tags + k]);
        next[k] = x[k] + (t ? sum : w[k]);
      }
      alpha.swap(next);
    }
    for (int64_t k = 0; k < tags; ++k) total = AddLogs(total, alpha[k] + w[tags + k]);
    p.Set(0, s, total - (score + w[tags + label[b.Row(s, steps - 1)]]));
  }
};

void DefineCrfGradGrad(OpDef& op) {
  AddInputs(op.Comment("The gradients of linear_chain_crf_grad along what arrives at its results: "
                       "the derivatives of those results and of LogLikelihood."))
      .Input(kCostGrad, "LogLikelihood@GRAD", "[N, 1]")
      .Input(kAlongEmission, "Emission@GRAD@GRAD", "shape of Emission", kDispensable)
      .Input(kAlongTransition, "Transition@GRAD@GRAD", "shape of Transition", kDispensable)
      .Output(kToEmission, "Emission@GRAD", "shape of Emission")
      .Output(kToTransition, "Transition@GRAD", "shape of Transition")
      .Output(kToCostGrad, "LogLikelihood@GRAD@GRAD", "[N, 1]")
      .MixedDTypes()
      .KernelDTypeOf(kEmission)
      .Shape([](InferContext& ctx) {
        CheckInputs(ctx);
        ctx.SetOutput(kToEmission, ctx.dims(kEmission));
        ctx.SetOutput(kToTransition, ctx.dims(kTransition));
        ctx.SetOutput(kToCostGrad, ctx.dims(kCostGrad));
      })
      .Grad(higher::Recipe<CrfHigher>);
}

template <class T>
struct CrfGradGradKernel : higher::SecondKernel<CrfHigher, T> {};
}  // namespace grad_grad
using grad_grad::CrfHigher;

REGISTER_OPERATOR(linear_chain_crf, DefineCrf);
REGISTER_CPU_KERNEL(linear_chain_crf, CrfKernel, float, double);
REGISTER_OPERATOR(linear_chain_crf_grad, grad::DefineCrfGrad);
REGISTER_CPU_KERNEL(linear_chain_crf_grad, grad::CrfGradKernel, float, double);
REGISTER_OPERATOR(linear_chain_crf_grad_grad, grad_grad::DefineCrfGradGrad);
REGISTER_CPU_KERNEL(linear_chain_crf_grad_grad, grad_grad::CrfGradGradKernel, float, double);
REGISTER_THIRD_GRADIENT(linear_chain_crf_grad_grad, CrfHigher);

}  // namespace
}  // namespace dygraph::crf

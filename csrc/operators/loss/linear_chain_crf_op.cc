#include <cmath>

#include "kernels/elementwise.h"
#include "kernels/loops.h"
#include "op/gradient_call.h"
#include "operators/higher_gradient.h"
#include "operators/loss/chain_loops.h"

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

template <class T>
struct CrfKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kEmission), &transition = ctx.In(kTransition);
    const int64_t tags = transition.dim(1);
    Tensor *alpha = ctx.OutOrNull(kAlpha), *out = ctx.OutOrNull(kLogLikelihood);
    Costs(ctx, alpha ? alpha->mutable_data<T>() : nullptr, out ? out->mutable_data<T>() : nullptr);
    if (Tensor* to = ctx.OutOrNull(kEmissionExps))
      RowExps(x.data<T>(), x.numel() / tags, tags, to->mutable_data<T>());
    if (Tensor* to = ctx.OutOrNull(kTransitionExps))
      kernels::MapPlain(transition.data<T>(), to->mutable_data<T>(), transition.numel(),
                        [] DYGRAPH_FN(T v) { return std::exp(v); });
  }
  static void RowExps(const T* x, int64_t rows, int64_t tags, T* y) {
    kernels::ForEachRow(rows, tags, [=] DYGRAPH_FN(int64_t r, kernels::Team team) {
      const T* from = x + r * tags;
      const T most = team.Max(tags, from[0], [=](int64_t k) { return from[k]; });
      team.Each(tags, [=](int64_t k) { y[r * tags + k] = std::exp(from[k] - most); });
    });
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
    Tensor *dx = ctx.OutOrNull(kEmissionGrad), *dw = ctx.OutOrNull(kTransitionGrad);
    CostGradients<T>(ctx, ctx.In(kCostGrad), dx ? dx->mutable_data<T>() : nullptr,
                     dw ? dw->mutable_data<T>() : nullptr);
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
    CheckCostGrad(p.ctx.In(kCostGrad), b.size());
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
REGISTER_KERNELS(linear_chain_crf, CrfKernel, float, double);
REGISTER_OPERATOR(linear_chain_crf_grad, grad::DefineCrfGrad);
REGISTER_KERNELS(linear_chain_crf_grad, grad::CrfGradKernel, float, double);
REGISTER_OPERATOR(linear_chain_crf_grad_grad, grad_grad::DefineCrfGradGrad);
REGISTER_CPU_KERNEL(linear_chain_crf_grad_grad, grad_grad::CrfGradGradKernel, float, double);
REGISTER_THIRD_GRADIENT(linear_chain_crf_grad_grad, CrfHigher);

}  // namespace
}  // namespace dygraph::crf

#include <cmath>
#include <limits>

#include "kernels/parallel.h"
#include "operators/higher_gradient.h"
#include "operators/ragged.h"
#include "platform/interrupt.h"

namespace dygraph {
namespace {

constexpr int kLogits = 0, kLabel = 1, kLogitsLength = 2, kLabelLength = 3, kCtcGrad = 0, kLoss = 1;
constexpr double kNever = -std::numeric_limits<double>::infinity();

struct WarpCtcAttrs {
  int32_t blank = 0;
  bool norm_by_times = false;
};

// Checks the inputs; gives the number of sequences, -1 where unknown.
int64_t CheckInputs(InferContext& ctx) {
  const Dims &x = ctx.dims(kLogits), &label = ctx.dims(kLabel);
  bool padded = ctx.HasInput(kLogitsLength);
  ENFORCE(padded == ctx.HasInput(kLabelLength), InvalidArgument,
          "LogitsLength and LabelLength must be given together or not at all, got one of them");
  int64_t count;
  if (padded) {
    ENFORCE(x.rank() == 3, InvalidArgument,
            "with LogitsLength, Logits must be padded scores [T, N, C], got shape ", x);
    ENFORCE(label.rank() == 2 && (label[0] == x[1] || !BothKnown(label[0], x[1])), InvalidArgument,
            "with LabelLength, Label must be padded labels [N, L] for Logits ", x, ", got ", label);
    count = x[1];
  } else {
    ENFORCE(x.rank() == 2, InvalidArgument,
            "Logits must hold the scores of all steps [total, C], got shape ", x,
            ". Padded scores [T, N, C] need LogitsLength and LabelLength");
    ENFORCE(label.rank() == 1 || (label.rank() == 2 && (label[1] == 1 || label[1] < 0)),
            InvalidArgument, "Label must have the shape [total, 1], got ", label);
    count = ragged::CountOf(ctx, kLogits);
    ENFORCE(count >= 0 || !ctx.runtime(), InvalidArgument,
            "Logits must have a level of detail that says where its sequences begin, got shape ", x,
            " without one. Give to_variable(lod=...), or padded Logits with LogitsLength");
  }
  int64_t classes = x[x.rank() - 1];
  int32_t blank = ctx.attrs<WarpCtcAttrs>().blank;
  ENFORCE(blank >= 0 && (blank < classes || classes < 0), OutOfRange,
          "blank must be a class in [0, ", classes, "), got ", blank);
  return count;
}

void InferShape(InferContext& ctx) {
  int64_t count = CheckInputs(ctx);
  ctx.SetOutput(kCtcGrad, ctx.dims(kLogits));
  ctx.SetOutput(kLoss, {count, 1});
}

void DefineWarpCtc(OpDef& op) {
  op.Comment(
        "Loss = -log of the probability that softmax(Logits) spells Label: the sum over all paths "
        "that give Label once repeated classes are merged and blanks left out (connectionist "
        "temporal classification, Graves et al., 2006). A Label that is too long costs infinity "
        "and has gradient 0. Sequences by LoD, or padded with lengths.")
      .Example(
          ">>> logits, label = to_variable(np.zeros((2, 1, 2))), to_variable([[1]])\n"
          ">>> steps, size = to_variable([2]), to_variable([1])\n"
          ">>> loss = F.warpctc(logits, label, logits_length=steps, label_length=size)\n"
          ">>> np.round(loss.numpy(), 4).tolist()  # three of four paths spell it: -log(3 / 4)\n"
          "[[0.2877]]")
      .Input(kLogits, "Logits", "scores [total, C] with LoD, or [T, N, C] with LogitsLength")
      .Input(kLabel, "Label", "int32 or int64 [total, 1] with LoD, or [N, L] with LabelLength")
      .Input(kLogitsLength, "LogitsLength", "[N] integers, steps of each", kDispensable)
      .Input(kLabelLength, "LabelLength", "[N] integers, labels of each", kDispensable)
      .Output(kCtcGrad, "WarpCTCGrad", "dLoss / dLogits, shape of Logits", kIntermediate)
      .Output(kLoss, "Loss", "[N, 1]")
      .Attr(&WarpCtcAttrs::blank, "blank", "the class that stands for nothing")
      .Attr(&WarpCtcAttrs::norm_by_times, "norm_by_times",
            "divide the gradient, not the loss, by the number of steps")
      .MixedDTypes()
      .KernelDTypeOf(kLogits)
      .Shape(InferShape)
      .Grad([](GradBuilder& g) {
        RecipeRef of_loss = g.Temp(), of_gradient = g.Temp();
        g.Call("warpctc_grad",
               {g.InputShape(kLogits), g.Output(kCtcGrad), g.Input(kLogitsLength),
                g.OutputGrad(kLoss)},
               {of_loss})
            .SameAttrs();
        // WarpCTCGrad depends on Logits: something arrives there in second order.
        g.Call("warpctc_grad_along",
               {g.Input(kLogits), g.Input(kLabel), g.Input(kLogitsLength), g.Input(kLabelLength),
                g.OutputGrad(kCtcGrad)},
               {of_gradient})
            .SameAttrs();
        g.Call("sum", {RecipeSlot({of_loss, of_gradient})}, {g.InputGrad(kLogits)});
      });
}

double AddLogs(double a, double b) {
  if (a < b) std::swap(a, b);
  return b == kNever ? a : a + std::log1p(std::exp(b - a));
}

// One sequence. States are the labels with a blank before, between and after them.
class Alignment {
 public:
  Alignment(const int64_t* label, int64_t count, int64_t blank)
      : states_(2 * count + 1, blank), alpha_(states_.size()), next_(states_.size()) {
    for (int64_t i = 0; i < count; ++i) states_[2 * i + 1] = label[i];
  }

  // log_p[t * classes + c]: logarithms of the probabilities. Gives the loss; `grad`, where given,
  // gets the gradient with respect to the scores before the softmax.
  double Loss(const std::vector<double>& log_p, int64_t steps, int64_t classes,
              std::vector<double>* grad) {
    int64_t n = static_cast<int64_t>(states_.size());
    if (grad) grad->assign(log_p.size(), 0.0);
    if (steps == 0) return n == 1 ? 0.0 : -kNever;
    std::vector<double> all(grad ? static_cast<size_t>(steps * n) : 0);
    std::fill(alpha_.begin(), alpha_.end(), kNever);
    alpha_[0] = log_p[states_[0]];
    if (n > 1) alpha_[1] = log_p[states_[1]];
    if (grad) std::copy(alpha_.begin(), alpha_.end(), all.begin());
    for (int64_t t = 1; t < steps; ++t) {
      CheckInterrupt();
      const double* p = log_p.data() + t * classes;
      for (int64_t s = 0; s < n; ++s) {
        double sum = alpha_[s];
        if (s >= 1) sum = AddLogs(sum, alpha_[s - 1]);
        if (MaySkip(s)) sum = AddLogs(sum, alpha_[s - 2]);
        next_[s] = sum + p[states_[s]];
      }
      alpha_.swap(next_);
      if (grad) std::copy(alpha_.begin(), alpha_.end(), all.begin() + t * n);
    }
    double total = AddLogs(alpha_[n - 1], n > 1 ? alpha_[n - 2] : kNever);
    if (grad && total != kNever) Backward(log_p, steps, classes, all, total, grad);
    return -total;
  }

 private:
  // From state s - 2: the blank between two different labels may be left out.
  bool MaySkip(int64_t s) const { return s >= 2 && s % 2 == 1 && states_[s] != states_[s - 2]; }

  void Backward(const std::vector<double>& log_p, int64_t steps, int64_t classes,
                const std::vector<double>& all, double total, std::vector<double>* grad) {
    int64_t n = static_cast<int64_t>(states_.size());
    std::vector<double>& beta = alpha_;  // of what comes after step t
    std::fill(beta.begin(), beta.end(), kNever);
    beta[n - 1] = 0;
    if (n > 1) beta[n - 2] = 0;
    for (int64_t t = steps - 1; t >= 0; --t) {
      CheckInterrupt();
      const double* p = log_p.data() + t * classes;
      double* g = grad->data() + t * classes;
      for (int64_t c = 0; c < classes; ++c) g[c] = std::exp(p[c]);
      for (int64_t s = 0; s < n; ++s) g[states_[s]] -= std::exp(all[t * n + s] + beta[s] - total);
      for (int64_t s = 0; s < n; ++s) {
        double sum = beta[s] + p[states_[s]];
        if (s + 1 < n) sum = AddLogs(sum, beta[s + 1] + p[states_[s + 1]]);
        if (s + 2 < n && MaySkip(s + 2)) sum = AddLogs(sum, beta[s + 2] + p[states_[s + 2]]);
        next_[s] = sum;
      }
      beta.swap(next_);
    }
  }

  std::vector<int64_t> states_;
  std::vector<double> alpha_, next_;
};

struct Batches {
  ragged::Batch steps, labels;
};

ragged::Batch StepsOf(const KernelContext& ctx, int logits, int length) {
  const Tensor& x = ctx.In(logits);
  const Tensor* lengths = ctx.InOrNull(length);
  if (!lengths) return ragged::FromLoD(x, "Logits", "LogitsLength");
  return ragged::FromLengths(*lengths, "LogitsLength", x.dim(1), x.dim(0), true);
}

Batches Read(const KernelContext& ctx) {
  const Tensor& label = ctx.In(kLabel);
  Batches b{StepsOf(ctx, kLogits, kLogitsLength), {}};
  if (const Tensor* lengths = ctx.InOrNull(kLabelLength)) {
    b.labels = ragged::FromLengths(*lengths, "LabelLength", label.dim(0), label.dim(1));
  } else {
    b.labels = ragged::FromLoD(label, "Label", "LabelLength");
    ENFORCE(b.labels.size() == b.steps.size(), InvalidArgument,
            "Logits and Label must have as many sequences, got ", b.steps.size(), " and ",
            b.labels.size());
  }
  return b;
}

std::vector<int64_t> ReadLabels(const KernelContext& ctx, const Batches& b, int64_t classes) {
  const int64_t blank = ctx.attrs<WarpCtcAttrs>().blank;
  std::vector<int64_t> label = Integers(ctx.In(kLabel), "Label");
  for (int64_t s = 0; s < b.labels.size(); ++s) {
    for (int64_t i = 0; i < b.labels.length[s]; ++i) {
      int64_t at = b.labels.Row(s, i);
      ENFORCE(label[at] >= 0 && label[at] < classes, OutOfRange,
              "every Label must be a class in [0, ", classes, "), got ", label[at], " at position ",
              at);
      ENFORCE(label[at] != blank, InvalidArgument, "Label must not hold blank, got ", blank,
              " at position ", at, ". Blanks between labels are put in by the loss");
    }
  }
  return label;
}

template <class T>
struct WarpCtcKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kLogits);
    int64_t classes = x.dim(x.rank() - 1), blank = ctx.attrs<WarpCtcAttrs>().blank;
    Batches b = Read(ctx);
    std::vector<int64_t> label = ReadLabels(ctx, b, classes);
    Tensor *grad = ctx.OutOrNull(kCtcGrad), *loss = ctx.OutOrNull(kLoss);
    const T* xd = x.data<T>();
    T* gd = grad ? grad->mutable_data<T>() : nullptr;
    T* ld = loss ? loss->mutable_data<T>() : nullptr;
    if (gd) std::fill(gd, gd + x.numel(), T(0));
    int64_t cost = b.steps.Longest() * (classes + 8 * b.labels.Longest()) * 8;
    kernels::ParallelRows(b.steps.size(), cost, [&](int64_t begin, int64_t end) {
      std::vector<double> log_p, g;
      for (int64_t s = begin; s < end; ++s) {
        int64_t steps = b.steps.length[s];
        log_p.resize(static_cast<size_t>(steps * classes));
        for (int64_t t = 0; t < steps; ++t)
          LogSoftmax(xd + b.steps.Row(s, t) * classes, classes, log_p.data() + t * classes);
        Alignment a(label.data() + b.labels.begin[s], b.labels.length[s], blank);
        double value = a.Loss(log_p, steps, classes, gd ? &g : nullptr);
        if (ld) ld[s] = static_cast<T>(value);
        for (int64_t t = 0; gd && t < steps; ++t) {
          T* to = gd + b.steps.Row(s, t) * classes;
          for (int64_t c = 0; c < classes; ++c) to[c] = static_cast<T>(g[t * classes + c]);
        }
      }
    });
  }
  static void LogSoftmax(const T* x, int64_t n, double* to) {
    double most = x[0], sum = 0;
    for (int64_t c = 1; c < n; ++c) most = std::max<double>(most, x[c]);
    for (int64_t c = 0; c < n; ++c) sum += std::exp(x[c] - most);
    for (int64_t c = 0; c < n; ++c) to[c] = x[c] - most - std::log(sum);
  }
};

template <class T>
T FactorOf(const WarpCtcAttrs& a, int64_t steps) {
  return a.norm_by_times ? T(1) / static_cast<T>(std::max<int64_t>(steps, 1)) : T(1);
}

namespace grad {
constexpr int kLogits = 0, kCtcGrad = 1, kLogitsLength = 2, kLossGrad = 3, kLogitsGrad = 0;

void DefineWarpCtcGrad(OpDef& op) {
  op.Comment(
        "Logits@GRAD = WarpCTCGrad * Loss@GRAD of the sequence, with norm_by_times over its "
        "number of steps.")
      .Input(kLogits, "Logits", "its shape and LoD")
      .Input(kCtcGrad, "WarpCTCGrad", "result of the forward call")
      .Input(kLogitsLength, "LogitsLength", "as of the forward call", kDispensable)
      .Input(kLossGrad, "Loss@GRAD", "[N, 1]")
      .Output(kLogitsGrad, "Logits@GRAD", "shape of Logits")
      .AttrsOf("warpctc")
      .MixedDTypes()
      .KernelDTypeOf(kCtcGrad)
      .Shape([](InferContext& ctx) {
        ENFORCE(ctx.dims(kLogits) == ctx.dims(kCtcGrad), InvalidArgument,
                "WarpCTCGrad must have the shape of Logits, ", ctx.dims(kLogits), ", got ",
                ctx.dims(kCtcGrad));
        int rank = ctx.HasInput(kLogitsLength) ? 3 : 2;
        ENFORCE(ctx.rank(kLogits) == rank, InvalidArgument, "Logits must have ", rank,
                " axes, got shape ", ctx.dims(kLogits));
        ctx.SetOutput(kLogitsGrad, ctx.dims(kLogits));
      })
      .Grad([](GradBuilder& g) {  // linear in WarpCTCGrad, and in Loss@GRAD
        RecipeRef v = g.OutputGrad(kLogitsGrad);
        g.Call("warpctc_grad",
               {g.InputShape(kLogits), v, g.Input(kLogitsLength), g.Input(kLossGrad)},
               {g.InputGrad(kCtcGrad)})
            .SameAttrs();
        g.Call("warpctc_grad_sum",
               {g.InputShape(kLogits), g.Input(kCtcGrad), g.Input(kLogitsLength), v},
               {g.InputGrad(kLossGrad)})
            .SameAttrs();
      });
}

template <class T>
struct WarpCtcGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &from = ctx.In(kCtcGrad), &loss = ctx.In(kLossGrad);
    ragged::Batch b = StepsOf(ctx, kLogits, kLogitsLength);
    ENFORCE(loss.numel() == b.size(), InvalidArgument,
            "Loss@GRAD must hold one number for each of the ", b.size(), " sequences, got shape ",
            loss.dims());
    int64_t classes = from.dim(from.rank() - 1);
    const T *x = from.data<T>(), *g = loss.data<T>();
    T* dx = ctx.Out(kLogitsGrad).mutable_data<T>();
    std::fill(dx, dx + from.numel(), T(0));
    for (int64_t s = 0; s < b.size(); ++s) {
      T factor = g[s] * FactorOf<T>(ctx.attrs<WarpCtcAttrs>(), b.length[s]);
      for (int64_t t = 0; t < b.length[s]; ++t) {
        int64_t at = b.Row(s, t) * classes;
        for (int64_t c = at; c < at + classes; ++c) dx[c] = x[c] * factor;
      }
    }
  }
};
}  // namespace grad

// What warpctc_grad gives Loss@GRAD.
namespace grad_sum {
constexpr int kLogits = 0, kCtcGrad = 1, kLogitsLength = 2, kV = 3, kSums = 0;

void DefineWarpCtcGradSum(OpDef& op) {
  op.Comment(
        "Out = the sum of WarpCTCGrad * V over each sequence, with norm_by_times over its number "
        "of steps.")
      .Input(kLogits, "Logits", "its shape and LoD")
      .Input(kCtcGrad, "WarpCTCGrad", "shape of Logits")
      .Input(kLogitsLength, "LogitsLength", "as of warpctc", kDispensable)
      .Input(kV, "V", "shape of Logits")
      .Output(kSums, "Out", "[N, 1]")
      .AttrsOf("warpctc")
      .MixedDTypes()
      .KernelDTypeOf(kCtcGrad)
      .Shape([](InferContext& ctx) {
        for (int slot : {kCtcGrad, kV}) {
          ENFORCE(ctx.dims(slot) == ctx.dims(kLogits), InvalidArgument, "Input(",
                  ctx.call().op->inputs[slot].name, ") must have the shape of Logits, ",
                  ctx.dims(kLogits), ", got ", ctx.dims(slot));
          ENFORCE(ctx.dtype(slot) == ctx.dtype(kCtcGrad), Type, "V must be of the type of ",
                  "WarpCTCGrad, ", ctx.dtype(kCtcGrad), ", got ", ctx.dtype(slot));
        }
        bool padded = ctx.HasInput(kLogitsLength);
        ENFORCE(ctx.rank(kLogits) == (padded ? 3 : 2), InvalidArgument, "Logits must have ",
                padded ? 3 : 2, " axes, got shape ", ctx.dims(kLogits));
        ctx.SetOutput(kSums, {padded ? ctx.dims(kLogits)[1] : ragged::CountOf(ctx, kLogits), 1});
      })
      .Grad([](GradBuilder& g) {
        RecipeRef r = g.OutputGrad(kSums);
        g.Call("warpctc_grad", {g.InputShape(kLogits), g.Input(kV), g.Input(kLogitsLength), r},
               {g.InputGrad(kCtcGrad)})
            .SameAttrs();
        g.Call("warpctc_grad",
               {g.InputShape(kLogits), g.Input(kCtcGrad), g.Input(kLogitsLength), r},
               {g.InputGrad(kV)})
            .SameAttrs();
      });
}

template <class T>
struct WarpCtcGradSumKernel {
  static void Compute(KernelContext& ctx) {
    ragged::Batch b = StepsOf(ctx, kLogits, kLogitsLength);
    const Dims& dims = ctx.In(kLogits).dims();
    const int64_t classes = dims[dims.rank() - 1];
    const T *x = ctx.In(kCtcGrad).data<T>(), *v = ctx.In(kV).data<T>();
    T* out = ctx.Out(kSums).mutable_data<T>();
    for (int64_t s = 0; s < b.size(); ++s) {
      double sum = 0;
      for (int64_t t = 0; t < b.length[s]; ++t) {
        for (int64_t c = 0; c < classes; ++c) {
          const int64_t at = b.Row(s, t) * classes + c;
          sum += static_cast<double>(x[at]) * static_cast<double>(v[at]);
        }
      }
      out[s] = static_cast<T>(sum) * FactorOf<T>(ctx.attrs<WarpCtcAttrs>(), b.length[s]);
    }
  }
};
}  // namespace grad_sum

// The derivative of WarpCTCGrad along a direction of Logits, by the forward pass on single numbers.
namespace grad_along {
constexpr int kAlong = 4, kOut = 0;

void DefineWarpCtcGradAlong(OpDef& op);

struct CtcHigher {
  static constexpr uint32_t kServes = higher::Slots(kLogits, kAlong);
  static void Define(OpDef& op) { DefineWarpCtcGradAlong(op); }
  static std::vector<higher::Input> Inputs(const KernelContext&) {
    return {{kLogits, kAlong, kOut}};
  }
  static std::vector<higher::Result> Results(const KernelContext&) { return {{-1, -1, 1.0}}; }
  static void Run(higher::Problem& p) {
    using higher::Scalar;
    const Tensor& x = p.ctx.In(kLogits);
    const int64_t classes = x.dim(x.rank() - 1), blank = p.ctx.attrs<WarpCtcAttrs>().blank;
    Batches b = Read(p.ctx);
    std::vector<int64_t> label = ReadLabels(p.ctx, b, classes);
    for (int64_t s = 0; s < b.steps.size(); ++s) {
      std::vector<int64_t> states(2 * b.labels.length[s] + 1, blank);
      for (int64_t i = 0; i < b.labels.length[s]; ++i)
        states[2 * i + 1] = label[b.labels.Row(s, i)];
      std::vector<Scalar> alpha(states.size());
      for (int64_t t = 0; t < b.steps.length[s]; ++t)
        alpha = Step(p.Leaves(0, b.steps.Row(s, t) * classes, classes), states, alpha, t == 0);
      Scalar total = alpha.back();
      if (alpha.size() > 1) total = AddLogs(total, alpha[alpha.size() - 2]);
      if (!total.never()) p.Set(0, s, total * -1.0);
      p.Flush();
    }
  }
  // The logarithms of the states' probabilities after a step with scores x.
  static std::vector<higher::Scalar> Step(const std::vector<higher::Scalar>& x,
                                          const std::vector<int64_t>& states,
                                          const std::vector<higher::Scalar>& before, bool first) {
    using higher::Scalar;
    Scalar total;
    for (Scalar score : x) total = AddLogs(total, score);
    std::vector<Scalar> after(states.size());
    for (size_t k = 0; k < states.size(); ++k) {
      Scalar p = x[states[k]] - total;
      if (first) {
        if (k < 2) after[k] = p;
        continue;
      }
      Scalar sum = before[k];
      if (k >= 1) sum = AddLogs(sum, before[k - 1]);
      // the blank between two different labels may be left out
      if (k >= 2 && k % 2 == 1 && states[k] != states[k - 2]) sum = AddLogs(sum, before[k - 2]);
      if (!sum.never()) after[k] = sum + p;
    }
    return after;
  }
};

void DefineWarpCtcGradAlong(OpDef& op) {
  op.Comment(
        "Out = d WarpCTCGrad(Logits + t V) / dt at t = 0, which is what the gradient V of "
        "WarpCTCGrad gives Logits.")
      .Input(kLogits, "Logits", "as of warpctc")
      .Input(kLabel, "Label", "as of warpctc")
      .Input(kLogitsLength, "LogitsLength", "as of warpctc", kDispensable)
      .Input(kLabelLength, "LabelLength", "as of warpctc", kDispensable)
      .Input(kAlong, "V", "shape of Logits")
      .Output(kOut, "Out", "shape of Logits")
      .AttrsOf("warpctc")
      .MixedDTypes()
      .KernelDTypeOf(kLogits)
      .Shape([](InferContext& ctx) {
        CheckInputs(ctx);
        ctx.SetOutput(kOut, ctx.dims(kLogits));
      })
      .Grad(higher::Recipe<CtcHigher>);
}

template <class T>
struct WarpCtcGradAlongKernel : higher::SecondKernel<CtcHigher, T> {};
}  // namespace grad_along
using grad_along::CtcHigher;

REGISTER_OPERATOR(warpctc, DefineWarpCtc);
REGISTER_CPU_KERNEL(warpctc, WarpCtcKernel, float, double);
REGISTER_OPERATOR(warpctc_grad, grad::DefineWarpCtcGrad);
REGISTER_CPU_KERNEL(warpctc_grad, grad::WarpCtcGradKernel, float, double);
REGISTER_OPERATOR(warpctc_grad_sum, grad_sum::DefineWarpCtcGradSum);
REGISTER_CPU_KERNEL(warpctc_grad_sum, grad_sum::WarpCtcGradSumKernel, float, double);
REGISTER_OPERATOR(warpctc_grad_along, grad_along::DefineWarpCtcGradAlong);
REGISTER_CPU_KERNEL(warpctc_grad_along, grad_along::WarpCtcGradAlongKernel, float, double);
REGISTER_THIRD_GRADIENT(warpctc_grad_along, CtcHigher);

}  // namespace
}  // namespace dygraph

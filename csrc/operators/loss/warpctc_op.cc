#include "operators/higher_gradient.h"
#include "operators/loss/ctc_loops.h"

namespace dygraph::ctc {
namespace {

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

template <class T>
struct WarpCtcKernel {
  static void Compute(KernelContext& ctx) {
    Tensor *grad = ctx.OutOrNull(kCtcGrad), *loss = ctx.OutOrNull(kLoss);
    Losses(ctx, grad ? grad->mutable_data<T>() : nullptr, loss ? loss->mutable_data<T>() : nullptr);
  }
};

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
    ScaleSequences(ctx, ctx.In(kCtcGrad).data<T>(), ctx.In(kLossGrad),
                   ctx.Out(kLogitsGrad).mutable_data<T>());
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
    SumSequences(ctx, ctx.In(kCtcGrad).data<T>(), ctx.In(kV).data<T>(),
                 ctx.Out(kSums).mutable_data<T>());
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
REGISTER_KERNELS(warpctc, WarpCtcKernel, float, double);
REGISTER_OPERATOR(warpctc_grad, grad::DefineWarpCtcGrad);
REGISTER_KERNELS(warpctc_grad, grad::WarpCtcGradKernel, float, double);
REGISTER_OPERATOR(warpctc_grad_sum, grad_sum::DefineWarpCtcGradSum);
REGISTER_KERNELS(warpctc_grad_sum, grad_sum::WarpCtcGradSumKernel, float, double);
REGISTER_OPERATOR(warpctc_grad_along, grad_along::DefineWarpCtcGradAlong);
REGISTER_CPU_KERNEL(warpctc_grad_along, grad_along::WarpCtcGradAlongKernel, float, double);
REGISTER_THIRD_GRADIENT(warpctc_grad_along, CtcHigher);

}  // namespace
}  // namespace dygraph::ctc

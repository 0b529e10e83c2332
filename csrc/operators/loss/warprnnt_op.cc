#include "operators/higher_gradient.h"
#include "operators/loss/rnnt_loops.h"

namespace dygraph::rnnt {
namespace {

void CheckInputs(InferContext& ctx) {
  const Dims &x = ctx.dims(kInput), &label = ctx.dims(kLabel);
  ENFORCE(x.rank() == 4, InvalidArgument,
          "input must be scores [sequences, steps, labels + 1, classes], got shape ", x);
  ENFORCE(label.rank() == 2 && (label[0] == x[0] || !BothKnown(label[0], x[0])), InvalidArgument,
          "label must be padded labels [", x[0], ", labels] for input ", x, ", got ", label);
  for (int slot : {kInputLengths, kLabelLengths}) {
    const Dims& n = ctx.dims(slot);
    ENFORCE(n.rank() == 1 && (n[0] == x[0] || !BothKnown(n[0], x[0])), InvalidArgument,
            ctx.call().op->inputs[slot].name, " must have one number for each of the ", x[0],
            " sequences, got shape ", n);
  }
  const int32_t blank = ctx.attrs<WarpRnntAttrs>().blank;
  ENFORCE(blank >= 0 && (blank < x[3] || x[3] < 0), OutOfRange, "blank must be a class in [0, ",
          x[3], "), got ", blank);
}

void DefineWarpRnnt(OpDef& op) {
  op.Comment(
        "loss = -log of the probability that a transducer with the scores `input`, over which a "
        "softmax is taken, emits label: the sum over all paths of blanks, which go to the next "
        "step, and labels (Graves, Sequence transduction with recurrent neural networks, 2012). "
        "fastemit_lambda adds its share to the gradient of what emits a label, not to the loss (Yu "
        "et al., FastEmit, 2021); such a gradient has none.")
      .Example(
          ">>> x, label = to_variable(np.zeros((1, 2, 2, 2))), to_variable([[1]])\n"
          ">>> steps, size = to_variable([2]), to_variable([1])\n"
          ">>> loss = F.warprnnt(x, label, steps, size)\n"
          ">>> np.round(loss.numpy(), 4).tolist()  # two paths of three halves: -log(1 / 4)\n"
          "[1.3863]")
      .Input(kInput, "input", "scores [sequences, steps, labels + 1, classes]")
      .Input(kLabel, "label", "int32 or int64 [sequences, labels]")
      .Input(kInputLengths, "input_lengths", "[sequences] integers, steps of each")
      .Input(kLabelLengths, "label_lengths", "[sequences] integers, labels of each")
      .Output(kLoss, "loss", "[sequences]; infinite without steps")
      .Output(kRnntGrad, "warprnntgrad", "dloss / dinput, shape of input", kIntermediate)
      .Attr(&WarpRnntAttrs::blank, "blank", "the class that stands for nothing")
      .Attr(&WarpRnntAttrs::fastemit_lambda, "fastemit_lambda", "at least 0", AtLeast(0))
      .MixedDTypes()
      .KernelDTypeOf(kInput)
      .Shape([](InferContext& ctx) {
        CheckInputs(ctx);
        ctx.SetOutput(kLoss, {ctx.dims(kInput)[0]}, ctx.dtype(kInput));
        ctx.SetOutput(kRnntGrad, ctx.dims(kInput), ctx.dtype(kInput));
      })
      .Grad([](GradBuilder& g) {
        RecipeRef of_loss = g.Temp(), of_gradient = g.Temp();
        g.Call("elementwise_mul", {g.Output(kRnntGrad), g.OutputGrad(kLoss)}, {of_loss})
            .Attr("axis", 0);
        // warprnntgrad depends on input: something arrives there in second order.
        if (g.attrs<WarpRnntAttrs>().fastemit_lambda != 0) {
          g.Call("missing_grad_formula", {g.OutputGrad(kRnntGrad)}, {of_gradient})
              .Attr("reason",
                    std::string("with fastemit_lambda the gradient is that of no loss, and "
                                "has none. Give fastemit_lambda=0"));
        } else {
          g.Call("warprnnt_grad_along",
                 {g.Input(kInput), g.Input(kLabel), g.Input(kInputLengths), g.Input(kLabelLengths),
                  g.OutputGrad(kRnntGrad)},
                 {of_gradient})
              .SameAttrs();
        }
        g.Call("sum", {RecipeSlot({of_loss, of_gradient})}, {g.InputGrad(kInput)});
      });
}

template <class T>
struct WarpRnntKernel {
  static void Compute(KernelContext& ctx) {
    Tensor *loss = ctx.OutOrNull(kLoss), *grad = ctx.OutOrNull(kRnntGrad);
    Losses(ctx, loss ? loss->mutable_data<T>() : nullptr, grad ? grad->mutable_data<T>() : nullptr);
  }
};

// The derivative of warprnntgrad along a direction of input, by the forward pass on single numbers.
namespace grad_along {
constexpr int kAlong = 4, kOut = 0;

void DefineWarpRnntGradAlong(OpDef& op);

struct RnntHigher {
  static constexpr uint32_t kServes = higher::Slots(kInput, kAlong);
  static void Define(OpDef& op) { DefineWarpRnntGradAlong(op); }
  static std::vector<higher::Input> Inputs(const KernelContext&) {
    return {{kInput, kAlong, kOut}};
  }
  static std::vector<higher::Result> Results(const KernelContext&) { return {{-1, -1, 1.0}}; }
  static void Run(higher::Problem& p) {
    using higher::Scalar;
    const WarpRnntAttrs& a = p.ctx.attrs<WarpRnntAttrs>();
    const Batch b(p.ctx);
    for (int64_t s = 0; s < b.count; ++s) {
      const int64_t states = b.labels[s] + 1;
      std::vector<Scalar> above(states), row(states);
      Scalar end;
      for (int64_t t = 0; t < b.length[s]; ++t) {
        for (int64_t u = 0; u < states; ++u) {
          // alpha of this cell, which `row` and `above` hold as reached by the moves into it
          Scalar alpha = AddLogs(above[u], u > 0 ? row[u - 1] : Scalar());
          const std::vector<Scalar> x = p.Leaves(0, b.Cell(s, t, u) * b.classes, b.classes);
          Scalar total;
          for (Scalar score : x) total = AddLogs(total, score);
          Scalar blank = x[a.blank] - total;
          const bool first = t == 0 && u == 0;
          if (u + 1 < states) {
            Scalar emit = x[b.LabelAt(s, u)] - total;
            row[u] = first ? emit : alpha + emit;
          }
          above[u] = first ? blank : alpha + blank;
          end = above[u];
        }
      }
      if (b.length[s] > 0) p.Set(0, s, end * -1.0);
      p.Flush();
    }
  }
};

void DefineWarpRnntGradAlong(OpDef& op) {
  op.Comment(
        "Out = d warprnntgrad(input + t V) / dt at t = 0, which is what the gradient V of "
        "warprnntgrad gives input.")
      .Input(kInput, "input", "as of warprnnt")
      .Input(kLabel, "label", "as of warprnnt")
      .Input(kInputLengths, "input_lengths", "as of warprnnt")
      .Input(kLabelLengths, "label_lengths", "as of warprnnt")
      .Input(kAlong, "V", "shape of input")
      .Output(kOut, "Out", "shape of input")
      .AttrsOf("warprnnt")
      .MixedDTypes()
      .KernelDTypeOf(kInput)
      .Shape([](InferContext& ctx) {
        CheckInputs(ctx);
        ctx.SetOutput(kOut, ctx.dims(kInput), ctx.dtype(kInput));
      })
      .Grad(higher::Recipe<RnntHigher>);
}

template <class T>
struct WarpRnntGradAlongKernel : higher::SecondKernel<RnntHigher, T> {};
}  // namespace grad_along
using grad_along::RnntHigher;

REGISTER_OPERATOR(warprnnt, DefineWarpRnnt);
REGISTER_KERNELS(warprnnt, WarpRnntKernel, float, double);
REGISTER_OPERATOR(warprnnt_grad_along, grad_along::DefineWarpRnntGradAlong);
REGISTER_CPU_KERNEL(warprnnt_grad_along, grad_along::WarpRnntGradAlongKernel, float, double);
REGISTER_THIRD_GRADIENT(warprnnt_grad_along, RnntHigher);

}  // namespace
}  // namespace dygraph::rnnt

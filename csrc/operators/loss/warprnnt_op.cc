#include <cmath>
#include <limits>

#include "kernels/math.h"
#include "kernels/parallel.h"
#include "kernels/simd.h"
#include "operators/arguments.h"
#include "operators/higher_gradient.h"
#include "platform/interrupt.h"

namespace dygraph {
namespace {

constexpr int kInput = 0, kLabel = 1, kInputLengths = 2, kLabelLengths = 3, kLoss = 0,
              kRnntGrad = 1;
constexpr double kNever = -std::numeric_limits<double>::infinity();

struct WarpRnntAttrs {
  int32_t blank = 0;
  double fastemit_lambda = 0.0;
};

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

double AddLogs(double a, double b) {
  if (a < b) std::swap(a, b);
  return b == kNever ? a : a + std::log1p(std::exp(b - a));
}

// A call's sequences, checked.
struct Batch {
  int64_t count, steps, states, classes;
  int64_t width;  // of label
  std::vector<int64_t> length, labels, label;

  explicit Batch(const KernelContext& ctx) {
    const Dims& x = ctx.In(kInput).dims();
    count = x[0], steps = x[1], states = x[2], classes = x[3];
    width = ctx.In(kLabel).dim(1);
    length = Integers(ctx.In(kInputLengths), "input_lengths");
    labels = Integers(ctx.In(kLabelLengths), "label_lengths");
    label = Integers(ctx.In(kLabel), "label");
    const int64_t most = std::min(width, states - 1), blank = ctx.attrs<WarpRnntAttrs>().blank;
    for (int64_t s = 0; s < count; ++s) {
      ENFORCE(length[s] >= 0 && length[s] <= steps, OutOfRange, "input_lengths must lie in [0, ",
              steps, "], the steps of input, got ", length[s], " at position ", s);
      ENFORCE(labels[s] >= 0 && labels[s] <= most, OutOfRange, "label_lengths must lie in [0, ",
              most, "], what label and input have room for, got ", labels[s], " at position ", s);
      for (int64_t i = 0; i < labels[s]; ++i) {
        const int64_t c = LabelAt(s, i);
        ENFORCE(c >= 0 && c < classes, OutOfRange, "every label must be a class in [0, ", classes,
                "), got ", c, " at position ", s * width + i);
        ENFORCE(c != blank, InvalidArgument, "label must not hold blank, got ", blank,
                " at position ", s * width + i);
      }
    }
  }
  int64_t LabelAt(int64_t s, int64_t i) const { return label[s * width + i]; }
  // Of the scores of sequence s at step t behind u labels.
  int64_t Cell(int64_t s, int64_t t, int64_t u) const { return (s * steps + t) * states + u; }
};

// The logarithms of the probabilities of a cell's two moves, then how many of the paths, as a
// share, take them.
struct Moves {
  double blank = 0, emit = 0;
};

// The probabilities of the moves of one sequence to what paths share them; gives the loss.
double Share(const Batch& b, int64_t s, Moves* cells) {
  const int64_t steps = b.length[s], states = b.labels[s] + 1;
  if (steps == 0) return -kNever;
  std::vector<double> alpha(static_cast<size_t>(steps * states)), beta(states);
  for (int64_t t = 0; t < steps; ++t) {
    CheckInterrupt();
    for (int64_t u = 0; u < states; ++u) {
      double sum = t == 0 && u == 0 ? 0.0 : kNever;
      if (t > 0) sum = AddLogs(sum, alpha[(t - 1) * states + u] + cells[b.Cell(s, t - 1, u)].blank);
      if (u > 0) sum = AddLogs(sum, alpha[t * states + u - 1] + cells[b.Cell(s, t, u - 1)].emit);
      alpha[t * states + u] = sum;
    }
  }
  const double total = alpha.back() + cells[b.Cell(s, steps - 1, states - 1)].blank;
  // beta[u]: of what comes behind a cell, of the step below and then of this one
  std::fill(beta.begin(), beta.end(), kNever);
  for (int64_t t = steps - 1; t >= 0; --t) {
    CheckInterrupt();
    for (int64_t u = states - 1; u >= 0; --u) {
      Moves& cell = cells[b.Cell(s, t, u)];
      const bool last = t == steps - 1 && u == states - 1;
      const double blank = cell.blank + (last ? 0.0 : beta[u]);
      const double emit = u + 1 < states ? cell.emit + beta[u + 1] : kNever;
      const double before = alpha[t * states + u] - total;
      cell.blank = total == kNever ? 0.0 : std::exp(before + blank);
      cell.emit = total == kNever ? 0.0 : std::exp(before + emit);
      beta[u] = AddLogs(blank, emit);
    }
  }
  return -total;
}

template <class T>
struct WarpRnntKernel {
  static void Compute(KernelContext& ctx) {
    const WarpRnntAttrs& a = ctx.attrs<WarpRnntAttrs>();
    const Batch b(ctx);
    const T* x = ctx.In(kInput).data<T>();
    Tensor *loss = ctx.OutOrNull(kLoss), *grad = ctx.OutOrNull(kRnntGrad);
    std::vector<Moves> cells(static_cast<size_t>(b.count * b.steps * b.states));
    std::vector<T> totals(cells.size());  // logarithms of the sums over classes
    ForCells(b, [&](int64_t s, int64_t u, int64_t at) {
      const T* row = x + at * b.classes;
      totals[at] = LogSum(row, b.classes);
      const double total = static_cast<double>(totals[at]);
      cells[at].blank = static_cast<double>(row[a.blank]) - total;
      if (u < b.labels[s]) cells[at].emit = static_cast<double>(row[b.LabelAt(s, u)]) - total;
    });
    T* ld = loss ? loss->mutable_data<T>() : nullptr;
    kernels::ParallelRows(b.count, b.steps * b.states * 128, [&](int64_t begin, int64_t end) {
      for (int64_t s = begin; s < end; ++s) {
        const double value = Share(b, s, cells.data());
        if (ld) ld[s] = static_cast<T>(value);
      }
    });
    if (!grad) return;
    T* g = grad->mutable_data<T>();
    std::fill(g, g + grad->numel(), T(0));
    const double emphasis = 1 + NumberFor<T>(a.fastemit_lambda);
    ForCells(b, [&](int64_t s, int64_t u, int64_t at) {
      const Moves& cell = cells[at];
      const double emit = u < b.labels[s] ? emphasis * cell.emit : 0.0;
      Spread(x + at * b.classes, totals[at], static_cast<T>(cell.blank + emit), b.classes,
             g + at * b.classes);
      g[at * b.classes + a.blank] -= static_cast<T>(cell.blank);
      if (u < b.labels[s]) g[at * b.classes + b.LabelAt(s, u)] -= static_cast<T>(emit);
    });
  }
  // f(sequence, labels before, cell) of all cells that paths may reach.
  template <class F>
  static void ForCells(const Batch& b, const F& f) {
    kernels::ParallelRows(b.count * b.steps, b.states * b.classes * 8,
                          [&](int64_t begin, int64_t end) {
                            for (int64_t r = begin; r < end; ++r) {
                              CheckInterrupt();
                              const int64_t s = r / b.steps, t = r % b.steps;
                              if (t >= b.length[s]) continue;
                              for (int64_t u = 0; u <= b.labels[s]; ++u) f(s, u, b.Cell(s, t, u));
                            }
                          });
  }
  static T LogSum(const T* x, int64_t n) {
    T result = 0, *to = &result;
    kernels::Simd([=] {
      T most = x[0], sum = 0;
      for (int64_t c = 1; c < n; ++c) most = x[c] > most ? x[c] : most;
      for (int64_t c = 0; c < n; ++c) sum += kernels::Exp(x[c] - most);
      *to = most + std::log(sum);
    });
    return result;
  }
  // to = the softmax of x, whose sum has this logarithm, times a factor
  static void Spread(const T* x, T total, T factor, int64_t n, T* to) {
    kernels::Simd([=] {
      for (int64_t c = 0; c < n; ++c) to[c] = factor * kernels::Exp(x[c] - total);
    });
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
REGISTER_CPU_KERNEL(warprnnt, WarpRnntKernel, float, double);
REGISTER_OPERATOR(warprnnt_grad_along, grad_along::DefineWarpRnntGradAlong);
REGISTER_CPU_KERNEL(warprnnt_grad_along, grad_along::WarpRnntGradAlongKernel, float, double);
REGISTER_THIRD_GRADIENT(warprnnt_grad_along, RnntHigher);

}  // namespace
}  // namespace dygraph

#include "kernels/elementwise.h"
#include "kernels/matmul.h"
#include "operators/sequence/sequence.h"

namespace dygraph::sequence {
namespace {

constexpr int kX = 0, kY = 1, kXRows = 2, kYRows = 3, kOut = 0;

// The pairs of sequences, and where their products begin in Out.
struct Pairs {
  const Offsets &x, &y;
  int64_t channels, width;
  Offsets begin{0};
  Pairs(const Call& call)
      : x(LastLevel(TensorOf(call, kXRows), "XRows")),
        y(LastLevel(TensorOf(call, kYRows), "YRows")),
        channels(TensorOf(call, kX).dim(1)),
        width(TensorOf(call, kX).dim(2)) {
    ENFORCE(x.size() == y.size(), InvalidArgument, "X and Y must have equally many sequences, got ",
            Count(x), " and ", Count(y));
    ENFORCE(TensorOf(call, kX).dim(0) == x.back() && TensorOf(call, kY).dim(0) == y.back(),
            InvalidArgument, "X and Y must have the rows of XRows and YRows, ", x.back(), " and ",
            y.back(), ", got shapes ", TensorOf(call, kX).dims(), " and ",
            TensorOf(call, kY).dims());
    for (int64_t s = 0; s < Count(x); ++s)
      begin.push_back(begin.back() + channels * Rows(x, s) * Rows(y, s));
  }
  static int64_t Rows(const Offsets& o, int64_t s) { return o[s + 1] - o[s]; }
};

void CheckInputs(InferContext& ctx) {
  const Dims &x = ctx.dims(kX), &y = ctx.dims(kY);
  ENFORCE(x.rank() == 3 && y.rank() == 2 && (x[2] == y[1] || !BothKnown(x[2], y[1])),
          InvalidArgument, "X and Y must have shapes [rows, channels, D] and [rows, D], got ", x,
          " and ", y);
}

OpDef& Inputs(OpDef& op) {
  return op.Input(kX, "X", "[rows, channels, D]")
      .Input(kY, "Y", "[rows, D]")
      .Input(kXRows, "XRows", "the LoD of X's rows alone is read", kShapeOnly)
      .Input(kYRows, "YRows", "the LoD of Y's rows alone is read", kShapeOnly)
      .KernelDTypeOf(kX)
      .MixedDTypes();
}

void DefineSequenceMatch(OpDef& op) {
  Inputs(op.Comment(
               "For each pair of sequences of X and Y and each channel: all rows of the one times "
               "all rows of the other, Out = [channel, row of X, row of Y] as one column. What "
               "match_matrix_tensor does behind its weight.")
             .Example(">>> x = to_variable([[[1.0, 2.0]], [[3.0, 4.0]]], lod=[[0, 2]])\n"
                      ">>> y = to_variable([[1.0, 0.0], [1.0, 1.0]], lod=[[0, 2]])\n"
                      ">>> F.sequence_match(x, y, x, y).tolist()\n"
                      "[[1.0], [3.0], [3.0], [7.0]]"))
      .Output(kOut, "Out", "[numbers, 1], with the LoD of the pairs")
      .Shape([](InferContext& ctx) {
        CheckInputs(ctx);
        ctx.SetOutput(kOut, {ctx.runtime() ? Pairs(ctx.call()).begin.back() : -1, 1});
      })
      .Grad([](GradBuilder& g) {
        g.Call("sequence_match_grad",
               {g.Wants(kY) ? g.Input(kX) : g.InputShape(kX),
                g.Wants(kX) ? g.Input(kY) : g.InputShape(kY), g.InputShape(kXRows),
                g.InputShape(kYRows), g.OutputGrad(kOut)},
               {g.InputGrad(kX), g.InputGrad(kY)});
      });
}

template <class T>
struct SequenceMatchKernel {
  static void Compute(KernelContext& ctx) {
    const Pairs p(ctx.call());
    const T *x = ctx.In(kX).data<T>(), *y = ctx.In(kY).data<T>();
    Tensor& out = ctx.Out(kOut);
    T* to = out.mutable_data<T>();
    for (int64_t s = 0; s < Count(p.x); ++s) {
      const int64_t m = Pairs::Rows(p.x, s), n = Pairs::Rows(p.y, s), step = p.channels * p.width;
      if (m == 0 || n == 0) continue;
      for (int64_t c = 0; c < p.channels; ++c)
        kernels::MatMul<T>(false, true, m, n, p.width, T(1), x + p.x[s] * step + c * p.width, step,
                           y + p.y[s] * p.width, p.width, T(0), to + p.begin[s] + c * m * n, n);
    }
    out.SetLoD(LoDLevels{p.begin});
  }
};

namespace grad {
constexpr int kOutGrad = 4, kXGrad = 0, kYGrad = 1;

void DefineSequenceMatchGrad(OpDef& op) {
  Inputs(op.Comment("What the rows of the one and Out@GRAD give for the other."))
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .Output(kYGrad, "Y@GRAD", "shape of Y")
      .Shape([](InferContext& ctx) {
        CheckInputs(ctx);
        if (ctx.runtime()) {
          const int64_t numbers = Pairs(ctx.call()).begin.back();
          ENFORCE(Numel(ctx.dims(kOutGrad)) == numbers, InvalidArgument,
                  "Out@GRAD must have the shape of Out, [", numbers, ", 1], got ",
                  ctx.dims(kOutGrad));
        }
        ctx.SetOutput(kXGrad, ctx.dims(kX), ctx.dtype(kX));
        ctx.SetOutput(kYGrad, ctx.dims(kY), ctx.dtype(kX));
      })
      .Grad([](GradBuilder& g) {
        RecipeRef ddx = g.OutputGrad(kXGrad), ddy = g.OutputGrad(kYGrad),
                  arrived = g.Input(kOutGrad), x_rows = g.InputShape(kXRows),
                  y_rows = g.InputShape(kYRows);
        RecipeRef a = g.Temp(), b = g.Temp();
        g.Call("sequence_match", {ddx, g.Input(kY), x_rows, y_rows}, {a});
        g.Call("sequence_match", {g.Input(kX), ddy, x_rows, y_rows}, {b});
        g.Call("sum", {RecipeSlot({a, b})}, {g.InputGrad(kOutGrad)});
        g.Call("sequence_match_grad", {g.InputShape(kX), ddy, x_rows, y_rows, arrived},
               {g.InputGrad(kX), {}});
        g.Call("sequence_match_grad", {ddx, g.InputShape(kY), x_rows, y_rows, arrived},
               {{}, g.InputGrad(kY)});
      });
}

template <class T>
struct SequenceMatchGradKernel {
  static void Compute(KernelContext& ctx) {
    const Pairs p(ctx.call());
    const T* g = ctx.In(kOutGrad).data<T>();
    auto start = [&](int slot) {
      Tensor* out = ctx.OutOrNull(slot);
      if (!out) return static_cast<T*>(nullptr);
      kernels::Fill(out->mutable_data<T>(), out->numel(), T(0));
      return out->mutable_data<T>();
    };
    T *dx = start(kXGrad), *dy = start(kYGrad);
    const T *x = dy ? ctx.In(kX).data<T>() : nullptr, *y = dx ? ctx.In(kY).data<T>() : nullptr;
    for (int64_t s = 0; s < Count(p.x); ++s) {
      const int64_t m = Pairs::Rows(p.x, s), n = Pairs::Rows(p.y, s), d = p.width,
                    step = p.channels * d;
      if (m == 0 || n == 0 || d == 0) continue;
      for (int64_t c = 0; c < p.channels; ++c) {
        const T* from = g + p.begin[s] + c * m * n;
        if (dx)
          kernels::MatMul<T>(false, false, m, d, n, T(1), from, n, y + p.y[s] * d, d, T(0),
                             dx + p.x[s] * step + c * d, step);
        if (dy)
          kernels::MatMul<T>(true, false, n, d, m, T(1), from, n, x + p.x[s] * step + c * d, step,
                             T(1), dy + p.y[s] * d, d);
      }
    }
  }
};
}  // namespace grad

REGISTER_OPERATOR(sequence_match, DefineSequenceMatch);
REGISTER_KERNELS(sequence_match, SequenceMatchKernel, float, double);
REGISTER_OPERATOR(sequence_match_grad, grad::DefineSequenceMatchGrad);
REGISTER_KERNELS(sequence_match_grad, grad::SequenceMatchGradKernel, float, double);

}  // namespace
}  // namespace dygraph::sequence

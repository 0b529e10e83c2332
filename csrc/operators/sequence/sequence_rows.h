// Operators whose rows are rows of X, moved: kernels and gradient from one plan of moves. `Spec`
// gives
//   type, grad_type, out (the output's name), inputs (names, X first);
//   reads_others: the plan reads what the inputs after X hold, not only their LoD;
//   static Moves Plan(const Call&);  // the gradient's inputs begin with the forward's
//   static Dims Row(const Dims& x);  // the shape of a row
#pragma once

#include "operators/sequence/sequence_loops.h"

namespace dygraph::sequence {

template <class Spec>
struct RowOps {
  static constexpr int kX = 0, kOut = 0;
  static int InputCount() { return static_cast<int>(std::size(Spec::inputs)); }

  static void InferShape(InferContext& ctx) {
    const Dims& x = ctx.dims(kX);
    Dims out{ctx.runtime() ? Spec::Plan(ctx.call()).rows : -1};
    Dims row = Spec::Row(x);
    out.Append(row.begin(), row.end());
    ctx.SetOutput(kOut, out, ctx.dtype(kX));
  }

  static void Recipe(GradBuilder& g) { GradCall(g, g.OutputGrad(kOut), {g.InputGrad(kX)}); }
  static void GradCall(GradBuilder& g, RecipeRef arriving, RecipeSlot to) {
    if (InputCount() == 1) {
      g.Call(Spec::grad_type, {g.InputShape(kX), arriving}, {to}).SameAttrs();
    } else if (InputCount() == 2) {
      g.Call(Spec::grad_type, {g.InputShape(kX), Spec::Other(g, 1), arriving}, {to}).SameAttrs();
    } else {
      g.Call(Spec::grad_type, {g.InputShape(kX), Spec::Other(g, 1), Spec::Other(g, 2), arriving},
             {to})
          .SameAttrs();
    }
  }

  template <class T>
  struct Forward {
    static void Compute(KernelContext& ctx) {
      Moves moves = Spec::Plan(ctx.call());
      const Tensor& x = ctx.In(kX);
      Tensor& out = ctx.Out(kOut);
      CopyRuns(moves, x.data<T>(), Numel(Spec::Row(x.dims())) * sizeof(T), out.mutable_data<T>());
      if (!moves.lod.empty()) out.SetLoD(std::move(moves.lod));
    }
  };

  static void DefineGrad(OpDef& op) {
    op.Comment("X@GRAD = at each row of X the sum of Out@GRAD where the row went.");
    for (int i = 0; i < InputCount(); ++i)
      op.Input(i, Spec::inputs[i], i ? "as in the forward call" : "its shape and LoD",
               i > 0 && Spec::reads_others ? kOnHost : 0);
    std::string out_grad = std::string(Spec::out) + "@GRAD";
    op.Input(InputCount(), out_grad.c_str(), "shape of the output")
        .Output(kX, "X@GRAD", "shape of X")
        .Shape([](InferContext& ctx) {
          ctx.SetOutput(kX, ctx.dims(kX), ctx.dtype(kX));
          if (!ctx.runtime()) return;
          const Dims& g = ctx.dims(InputCount());
          int64_t rows = Spec::Plan(ctx.call()).rows;
          ENFORCE(Numel(g) == rows * Numel(Spec::Row(ctx.dims(kX))), InvalidArgument,
                  "Out@GRAD must have the shape of the output, ", rows, " rows, got ", g);
        })
        .KernelDType([](const Call& call) { return call.in.at(InputCount())->dtype(); })
        .MixedDTypes()
        .Grad([](GradBuilder& g) {
          RecipeRef arriving = g.Apply("lod_reset", {g.OutputGrad(kX), g.InputShape(kX)});
          RecipeSlot to = g.InputGrad(InputCount());
          if (InputCount() == 1) {
            g.Call(Spec::type, {arriving}, {to}).SameAttrs();
          } else if (InputCount() == 2) {
            g.Call(Spec::type, {arriving, Spec::Other(g, 1)}, {to}).SameAttrs();
          } else {
            g.Call(Spec::type, {arriving, Spec::Other(g, 1), Spec::Other(g, 2)}, {to}).SameAttrs();
          }
        });
    if (Spec::has_attrs) op.AttrsOf(Spec::type);
  }

  template <class T>
  struct Backward {
    static void Compute(KernelContext& ctx) {
      Tensor& x = ctx.Out(kX);
      AddRunsBack(Spec::Plan(ctx.call()), ctx.In(InputCount()).data<T>(),
                  Numel(Spec::Row(x.dims())), x.mutable_data<T>(), x.numel());
    }
  };
};

// The shape of a row where rows lie along the first axis.
inline Dims RowAfterFirst(const Dims& x) {
  ENFORCE(x.rank() > 0, InvalidArgument, "X must have rows, got shape ", x);
  return Dims(Span<const int64_t>(x.begin() + 1, x.size() - 1));
}

}  // namespace dygraph::sequence

#include "op/gradient_call.h"
#include "operators/sequence/sequence_context_loops.h"

namespace dygraph::sequence {
namespace {

constexpr int kX = 0, kPadding = 1, kOut = 0;

void DefineSequenceContext(OpDef& op) {
  AddContextAttrs<ContextAttrs>(
      op.Comment(
            "Out[i] = rows i + contextStart ... i + contextStart + contextLength - 1 of X side "
            "by side, within the sequence of row i; beyond its ends zeros or, with "
            "paddingTrainable, rows of PaddingData.")
          .Example(">>> x = to_variable([[1.0], [2.0], [3.0]], lod=[[0, 2, 3]])\n"
                   ">>> F.sequence_context(x, contextLength=3, contextStart=-1).tolist()\n"
                   "[[0.0, 1.0, 2.0], [1.0, 2.0, 0.0], [0.0, 3.0, 0.0]]")
          .Input(kX, "X", "[rows, D] with LoD")
          .Input(kPadding, "PaddingData",
                 "[rows above + rows below, D] with paddingTrainable: -contextStart rows that may "
                 "lie before a sequence, and those that may lie behind one; absent: zeros",
                 kDispensable)
          .Output(kOut, "Out", "[rows, contextLength * D]"))
      .Shape([](InferContext& ctx) {
        ctx.SetOutput(kOut, ContextShape(ctx, kX, kPadding, ctx.attrs<ContextAttrs>()));
      })
      .ShareLoD(kX)
      .Grad(CallGradient);
}

template <class T>
struct SequenceContextKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), *padding = ctx.InOrNull(kPadding);
    GatherContext(LastLevel(x, "X"), ctx.attrs<ContextAttrs>(), x.data<T>(),
                  padding ? padding->data<T>() : nullptr, x.dim(1),
                  ctx.Out(kOut).mutable_data<T>());
  }
};

namespace grad {
constexpr int kOutGrad = 2;

void DefineSequenceContextGrad(OpDef& op) {
  op.Comment("The gradients of sequence_context: each row gets the sum over its places.")
      .Input(kX, "X", "its shape and LoD", kShapeOnly)
      .Input(kPadding, "PaddingData", "its shape", kDispensable | kShapeOnly)
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kX, "X@GRAD", "shape of X")
      .Output(kPadding, "PaddingData@GRAD", "shape of PaddingData")
      .AttrsOf("sequence_context")
      .Shape([](InferContext& ctx) {
        Dims out = ContextShape(ctx, kX, kPadding, ctx.attrs<ContextAttrs>());
        ENFORCE(!ctx.runtime() || ctx.dims(kOutGrad) == out, InvalidArgument,
                "Out@GRAD must have the shape of Out, ", out, ", got ", ctx.dims(kOutGrad));
        ctx.SetOutput(kX, ctx.dims(kX), ctx.dtype(kX));
        if (ctx.HasInput(kPadding)) ctx.SetOutput(kPadding, ctx.dims(kPadding), ctx.dtype(kX));
      })
      .KernelDTypeOf(kOutGrad)
      .Grad([](GradBuilder& g) {
        // An absent one of the two directions stands for zeros.
        RecipeRef x = g.Apply("lod_reset", {g.OutputGrad(kX), g.InputShape(kX)});
        RecipeRef none = g.Apply("fill_any_like", {g.InputShape(kX)});
        RecipeRef zeros = g.Apply("lod_reset", {none, g.InputShape(kX)});
        if (!g.HasInput(kPadding)) {
          g.Call("sequence_context", {x}, {g.InputGrad(kOutGrad)}).SameAttrs();
          return;
        }
        RecipeRef a = g.Temp(), b = g.Temp();
        g.Call("sequence_context", {x}, {a}).SameAttrs();
        g.Call("sequence_context", {zeros, g.OutputGrad(kPadding)}, {b}).SameAttrs();
        g.Call("sum", {RecipeSlot({a, b})}, {g.InputGrad(kOutGrad)});
      });
}

template <class T>
struct SequenceContextGradKernel {
  static void Compute(KernelContext& ctx) {
    const ContextAttrs& a = ctx.attrs<ContextAttrs>();
    const Tensor& x = ctx.In(kX);
    Tensor *to_x = ctx.OutOrNull(kX), *to_padding = ctx.OutOrNull(kPadding);
    T* dx = to_x ? to_x->mutable_data<T>() : nullptr;
    T* dp = to_padding && to_padding->has_data() ? to_padding->mutable_data<T>() : nullptr;
    SpreadContext(LastLevel(x, "X"), a, ctx.In(kOutGrad).data<T>(), x.dim(1), x.dim(0), dx,
                  dp ? to_padding->dim(0) : 0, dp);
  }
};
}  // namespace grad

REGISTER_OPERATOR(sequence_context, DefineSequenceContext);
REGISTER_KERNELS(sequence_context, SequenceContextKernel, float, double);
REGISTER_OPERATOR(sequence_context_grad, grad::DefineSequenceContextGrad);
REGISTER_KERNELS(sequence_context_grad, grad::SequenceContextGradKernel, float, double);

}  // namespace
}  // namespace dygraph::sequence

#include "kernels/elementwise.h"
#include "kernels/matmul.h"
#include "operators/sequence/sequence_context_loops.h"

namespace dygraph::sequence {
namespace {

constexpr int kX = 0, kPadding = 1, kFilter = 2, kOut = 0;

// sequence_context's attributes from sequence_conv's: one struct.
void SameContext(const void* forward, void* backward) {
  *static_cast<ContextAttrs*>(backward) = *static_cast<const ContextAttrs*>(forward);
}

void DefineSequenceConv(OpDef& op) {
  AddContextAttrs<ContextAttrs>(
      op.Comment(
            "Out[i] = (rows i + contextStart ... i + contextStart + contextLength - 1 of X side "
            "by side, see sequence_context) Filter.")
          .Example(
              ">>> x = to_variable([[1.0], [2.0], [3.0]], lod=[[0, 2, 3]])\n"
              ">>> weight = to_variable([[1.0], [10.0], [100.0]])\n"
              ">>> F.sequence_conv(x, filter=weight, contextLength=3, contextStart=-1).tolist()\n"
              "[[210.0], [21.0], [30.0]]")
          .Input(kX, "X", "[rows, D] with LoD")
          .Input(kPadding, "PaddingData",
                 "[rows above + rows below, D] with paddingTrainable: what lies beyond the ends of "
                 "a sequence",
                 kDispensable)
          .Input(kFilter, "Filter", "[contextLength * D, M]")
          .Output(kOut, "Out", "[rows, M], the LoD of X"))
      .Shape([](InferContext& ctx) {
        ENFORCE(!ctx.attrs<ContextAttrs>().paddingTrainable || ctx.HasInput(kPadding),
                InvalidArgument, "PaddingData must be given with paddingTrainable, got nothing");
        Dims context = ContextShape(ctx, kX, kPadding, ctx.attrs<ContextAttrs>());
        const Dims& f = ctx.dims(kFilter);
        ENFORCE(f.rank() == 2 && (f[0] == context[1] || !BothKnown(f[0], context[1])),
                InvalidArgument, "Filter must have shape [contextLength * D, M], [", context[1],
                ", M], got ", f);
        ctx.SetOutput(kOut, {context[0], f[1]});
      })
      .ShareLoD(kX)
      .Grad([](GradBuilder& g) {
        RecipeRef context = g.Temp(), d_context = g.Temp();
        g.Call("sequence_context", {g.Input(kX), g.Input(kPadding)}, {context})
            .AttrsFrom(SameContext);
        g.Call("matmul_v2", {context, g.OutputGrad(kOut)}, {g.InputGrad(kFilter)})
            .Attr("trans_x", true);
        g.Call("matmul_v2", {g.OutputGrad(kOut), g.Input(kFilter)}, {d_context})
            .Attr("trans_y", true);
        g.Call("sequence_context_grad", {g.InputShape(kX), g.InputShape(kPadding), d_context},
               {g.InputGrad(kX), g.InputGrad(kPadding)})
            .AttrsFrom(SameContext);
      });
}

template <class T>
struct SequenceConvKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &filter = ctx.In(kFilter), *padding = ctx.InOrNull(kPadding);
    const ContextAttrs& a = ctx.attrs<ContextAttrs>();
    int64_t rows = x.dim(0), depth = filter.dim(0), width = filter.dim(1);
    Tensor& out = ctx.Out(kOut);
    if (out.numel() == 0) return;
    Tensor context({rows, depth}, x.dtype(), ctx.place());
    T* c = context.mutable_data<T>();
    GatherContext(LastLevel(x, "X"), a, x.data<T>(), padding ? padding->data<T>() : nullptr,
                  x.dim(1), c);
    if (depth == 0) return kernels::Fill(out.mutable_data<T>(), out.numel(), T(0));
    kernels::MatMul<T>(false, false, rows, width, depth, T(1), c, depth, filter.data<T>(), width,
                       T(0), out.mutable_data<T>(), width);
  }
};

REGISTER_OPERATOR(sequence_conv, DefineSequenceConv);
REGISTER_KERNELS(sequence_conv, SequenceConvKernel, float, double);

}  // namespace
}  // namespace dygraph::sequence

#include "operators/conv/row_conv_loops.h"

namespace dygraph::sequence {
namespace {

constexpr int kX = 0, kFilter = 1, kOut = 0;

// Sequences of rows of X: by its LoD, or X[i] each where X is [batch, time, D].
Offsets SequencesOf(const Tensor& x) {
  if (x.rank() == 2) return LastLevel(x, "X");
  Offsets offsets;
  for (int64_t i = 0; i <= x.dim(0); ++i) offsets.push_back(i * x.dim(1));
  return offsets;
}

void CheckInputs(InferContext& ctx) {
  const Dims &x = ctx.dims(kX), &f = ctx.dims(kFilter);
  ENFORCE(x.rank() == 2 || x.rank() == 3, InvalidArgument,
          "X must be [rows, D] with LoD or [batch, time, D], got ", x);
  int64_t width = x[x.rank() - 1];
  ENFORCE(f.rank() == 2 && (f[1] == width || !BothKnown(f[1], width)), InvalidArgument,
          "Filter must have shape [rows ahead + 1, D] for X ", x, ", got ", f);
  if (ctx.runtime()) SequencesOf(ctx.value(kX).tensor());
}

void DefineRowConv(OpDef& op) {
  op.Comment(
        "Out[t] = sum over w of X[t + w] * Filter[w], within the sequence: a look ahead, channel "
        "by channel. Amodei et al., \"Deep speech 2\", 2016.")
      .Example(
          ">>> x = to_variable([[[1.0], [2.0], [3.0]]])\n"
          ">>> F.row_conv(x, to_variable([[1.0], [10.0]])).tolist()\n"
          "[[[21.0], [32.0], [3.0]]]")
      .Input(kX, "X", "[rows, D] with LoD, or [batch, time, D]")
      .Input(kFilter, "Filter", "[rows ahead + 1, D]")
      .Output(kOut, "Out", "shape and LoD of X")
      .Shape([](InferContext& ctx) {
        CheckInputs(ctx);
        ctx.SetOutput(kOut, ctx.dims(kX));
      })
      .ShareLoD(kX)
      .Grad([](GradBuilder& g) {
        g.Call("row_conv_grad",
               {g.Wants(kFilter) ? g.Input(kX) : g.InputShape(kX),
                g.Wants(kX) ? g.Input(kFilter) : g.InputShape(kFilter), g.OutputGrad(kOut)},
               {g.InputGrad(kX), g.InputGrad(kFilter)});
      });
}

template <class T>
struct RowConvKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &in = ctx.In(kX), &filter = ctx.In(kFilter);
    LookAhead(SequencesOf(in), filter.dim(0), filter.dim(1), in.data<T>(), filter.data<T>(),
              ctx.Out(kOut).mutable_data<T>());
  }
};

namespace grad {
constexpr int kOutGrad = 2;

void DefineRowConvGrad(OpDef& op) {
  op.Comment("X@GRAD[t + w] += Out@GRAD[t] * Filter[w], Filter@GRAD[w] += Out@GRAD[t] * X[t + w].")
      .Input(kX, "X", "its shape and LoD; its values for Filter@GRAD")
      .Input(kFilter, "Filter", "its shape; its values for X@GRAD")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kX, "X@GRAD", "shape of X")
      .Output(kFilter, "Filter@GRAD", "shape of Filter")
      .Shape([](InferContext& ctx) {
        CheckInputs(ctx);
        ctx.SetOutput(kX, ctx.dims(kX));
        ctx.SetOutput(kFilter, ctx.dims(kFilter));
      })
      .KernelDTypeOf(kOutGrad)
      .Grad([](GradBuilder& g) {
        // Linear in each of X, Filter and Out@GRAD.
        RecipeRef ddx = g.Apply("lod_reset", {g.OutputGrad(kX), g.InputShape(kX)}),
                  ddf = g.OutputGrad(kFilter), a = g.Temp(), b = g.Temp();
        g.Call("row_conv", {ddx, g.Input(kFilter)}, {a});
        g.Call("row_conv", {g.Input(kX), ddf}, {b});
        g.Call("sum", {RecipeSlot({a, b})}, {g.InputGrad(kOutGrad)});
        g.Call("row_conv_grad", {g.InputShape(kX), ddf, g.Input(kOutGrad)}, {g.InputGrad(kX), {}});
        g.Call("row_conv_grad", {ddx, g.InputShape(kFilter), g.Input(kOutGrad)},
               {{}, g.InputGrad(kFilter)});
      });
}

template <class T>
struct RowConvGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &filter = ctx.In(kFilter), &arriving = ctx.In(kOutGrad);
    ENFORCE(arriving.dims() == x.dims(), InvalidArgument, "Out@GRAD must have the shape of X, ",
            x.dims(), ", got ", arriving.dims());
    const int64_t taps = filter.dim(0), width = filter.dim(1);
    const T* g = arriving.data<T>();
    const Offsets offsets = SequencesOf(x);
    if (Tensor* out = ctx.OutOrNull(kX))
      LookBack(offsets, taps, width, g, filter.data<T>(), out->mutable_data<T>());
    if (Tensor* out = ctx.OutOrNull(kFilter))
      TapSums(offsets, taps, width, g, x.data<T>(), out->mutable_data<T>());
  }
};
}  // namespace grad

REGISTER_OPERATOR(row_conv, DefineRowConv);
REGISTER_KERNELS(row_conv, RowConvKernel, float, double);
REGISTER_OPERATOR(row_conv_grad, grad::DefineRowConvGrad);
REGISTER_KERNELS(row_conv_grad, grad::RowConvGradKernel, float, double);

}  // namespace
}  // namespace dygraph::sequence

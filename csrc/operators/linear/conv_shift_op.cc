#include "operators/linear/conv_shift_loops.h"
#include "operators/linear/two_factors.h"

namespace dygraph::two_factors {
namespace {

constexpr char kConvShift[] = "conv_shift";

void InferShape(InferContext& ctx) {
  const Dims &x = ctx.dims(kX), &y = ctx.dims(kY);
  ENFORCE(x.rank() == 2 && y.rank() == 2 && (x[0] == y[0] || !BothKnown(x[0], y[0])),
          InvalidArgument, "X and Y must have shapes [B, M] and [B, N], got ", x, " and ", y);
  ENFORCE(y[1] < 0 || y[1] % 2 == 1, InvalidArgument, "Y must have an odd number of columns, got ",
          y[1]);
  ENFORCE(y[1] <= x[1] || !BothKnown(x[1], y[1]), InvalidArgument,
          "Y must have at most as many columns as X, ", x[1], ", got ", y[1]);
  ctx.SetOutput(kOut, x);
}

void DefineConvShift(OpDef& op) {
  op.Comment(
        "Out[b, i] = the sum over j from 0 to N - 1 of X[b, (i + j - (N - 1) / 2) mod M] * Y[b, "
        "j]: each row of X, taken as a ring, convolved with its row of Y (the shift of a neural "
        "Turing machine; Graves et al., 2014).")
      .Example(
          ">>> x, y = to_variable([[1.0, 2.0, 3.0, 4.0]]), to_variable([[1.0, 0.0, 0.0]])\n"
          ">>> F.conv_shift(x, y).tolist()\n"
          "[[4.0, 1.0, 2.0, 3.0]]")
      .Input(kX, "X", "[B, M]")
      .Input(kY, "Y", "[B, N], N odd and at most M")
      .Output(kOut, "Out", "[B, M]")
      .Shape(InferShape)
      .ShareLoD(kX)
      .Grad(Recipe<kConvShift>);
}

template <class T>
struct ConvShiftKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &y = ctx.In(kY);
    const int64_t m = x.dim(1), n = y.dim(1);
    conv_shift::Forward(x.data<T>(), y.data<T>(), x.dim(0), m, n, ctx.Out(kOut).mutable_data<T>());
  }
};

template <class T>
struct ConvShiftGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &y = ctx.In(kY), &g = ctx.In(grad::kOutGrad);
    const int64_t m = x.dim(1), n = y.dim(1);
    ENFORCE(g.dims() == x.dims(), InvalidArgument, "Out@GRAD must have the shape of X, ", x.dims(),
            ", got ", g.dims());
    Tensor *dx = ctx.OutOrNull(grad::kXGrad), *dy = ctx.OutOrNull(grad::kYGrad);
    conv_shift::Backward(dy ? x.data<T>() : nullptr, dx ? y.data<T>() : nullptr, g.data<T>(),
                         x.dim(0), m, n, dx ? dx->mutable_data<T>() : nullptr,
                         dy ? dy->mutable_data<T>() : nullptr);
  }
};

REGISTER_OPERATOR(conv_shift, DefineConvShift);
REGISTER_KERNELS(conv_shift, ConvShiftKernel, float, double);
REGISTER_OPERATOR(conv_shift_grad, DefineGrad<kConvShift>);
REGISTER_KERNELS(conv_shift_grad, ConvShiftGradKernel, float, double);

}  // namespace
}  // namespace dygraph::two_factors

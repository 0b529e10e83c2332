#include "kernels/parallel.h"
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

// Calls f(row, i, j, place in X) for all of rows [begin, end).
template <class F>
void ForEach(int64_t m, int64_t n, int64_t begin, int64_t end, F f) {
  for (int64_t b = begin; b < end; ++b) {
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) f(b, i, j, (i + j - (n - 1) / 2 + m) % m);
    }
  }
}

template <class T>
struct ConvShiftKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &y = ctx.In(kY);
    const int64_t m = x.dim(1), n = y.dim(1);
    const T *from = x.data<T>(), *by = y.data<T>();
    T* to = ctx.Out(kOut).mutable_data<T>();
    kernels::ParallelRows(x.dim(0), m * n * 4, [=](int64_t begin, int64_t end) {
      std::fill(to + begin * m, to + end * m, T(0));
      ForEach(m, n, begin, end, [=](int64_t b, int64_t i, int64_t j, int64_t at) {
        to[b * m + i] += from[b * m + at] * by[b * n + j];
      });
    });
  }
};

template <class T>
struct ConvShiftGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &y = ctx.In(kY), &g = ctx.In(grad::kOutGrad);
    const int64_t m = x.dim(1), n = y.dim(1);
    ENFORCE(g.dims() == x.dims(), InvalidArgument, "Out@GRAD must have the shape of X, ", x.dims(),
            ", got ", g.dims());
    const T* arrived = g.data<T>();
    Tensor *x_grad = ctx.OutOrNull(grad::kXGrad), *y_grad = ctx.OutOrNull(grad::kYGrad);
    const T *from = y_grad ? x.data<T>() : nullptr, *by = x_grad ? y.data<T>() : nullptr;
    T *dx = x_grad ? x_grad->mutable_data<T>() : nullptr,
      *dy = y_grad ? y_grad->mutable_data<T>() : nullptr;
    kernels::ParallelRows(x.dim(0), m * n * 8, [=](int64_t begin, int64_t end) {
      if (dx) std::fill(dx + begin * m, dx + end * m, T(0));
      if (dy) std::fill(dy + begin * n, dy + end * n, T(0));
      ForEach(m, n, begin, end, [=](int64_t b, int64_t i, int64_t j, int64_t at) {
        const T v = arrived[b * m + i];
        if (dx) dx[b * m + at] += v * by[b * n + j];
        if (dy) dy[b * n + j] += v * from[b * m + at];
      });
    });
  }
};

REGISTER_OPERATOR(conv_shift, DefineConvShift);
REGISTER_CPU_KERNEL(conv_shift, ConvShiftKernel, float, double);
REGISTER_OPERATOR(conv_shift_grad, DefineGrad<kConvShift>);
REGISTER_CPU_KERNEL(conv_shift_grad, ConvShiftGradKernel, float, double);

}  // namespace
}  // namespace dygraph::two_factors

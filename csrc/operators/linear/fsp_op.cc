#include "kernels/matmul.h"
#include "operators/linear/two_factors.h"

namespace dygraph::two_factors {
namespace {

constexpr char kFsp[] = "fsp";

void InferShape(InferContext& ctx) {
  const Dims &x = ctx.dims(kX), &y = ctx.dims(kY);
  bool fits = x.rank() == 4 && y.rank() == 4;
  for (int i : {0, 2, 3}) fits = fits && (x[i] == y[i] || !BothKnown(x[i], y[i]));
  ENFORCE(fits, InvalidArgument,
          "X and Y must have shapes [N, C, H, W] that are equal but for C, got ", x, " and ", y);
  ctx.SetOutput(kOut, {x[0], x[1], y[1]});
}

void DefineFsp(OpDef& op) {
  op.Comment(
        "Out[n, i, j] = the mean of X[n, i] * Y[n, j] over the pixels: how features flow from one "
        "layer to another (Yim et al., 2017, of which a student network learns).")
      .Example(
          ">>> x, y = to_variable([[[[1.0, 3.0]]]]), to_variable([[[[2.0, 4.0]], [[0.0, 1.0]]]])\n"
          ">>> F.fsp(x, y).tolist()\n"
          "[[[7.0, 1.5]]]")
      .Input(kX, "X", "[N, Cx, H, W]")
      .Input(kY, "Y", "[N, Cy, H, W]")
      .Output(kOut, "Out", "[N, Cx, Cy]")
      .Shape(InferShape)
      .ShareLoD(kX)
      .Grad(Recipe<kFsp>);
}

int64_t PixelsOf(const Tensor& x) { return x.dim(2) * x.dim(3); }

template <class T>
struct FspKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &y = ctx.In(kY);
    const int64_t m = x.dim(1), n = y.dim(1), k = PixelsOf(x);
    const T *a = x.data<T>(), *b = y.data<T>();
    T* to = ctx.Out(kOut).mutable_data<T>();
    if (m * n == 0) return;
    for (int64_t i = 0; i < x.dim(0); ++i)
      kernels::MatMul<T>(false, true, m, n, k, T(1) / static_cast<T>(k), a + i * m * k, k,
                         b + i * n * k, k, T(0), to + i * m * n, n);
  }
};

template <class T>
struct FspGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &y = ctx.In(kY), &g = ctx.In(grad::kOutGrad);
    const int64_t m = x.dim(1), n = y.dim(1), k = PixelsOf(x);
    ENFORCE(g.dims() == Dims({x.dim(0), m, n}), InvalidArgument,
            "Out@GRAD must have the shape of Out, ", Dims({x.dim(0), m, n}), ", got ", g.dims());
    Tensor *dx = ctx.OutOrNull(grad::kXGrad), *dy = ctx.OutOrNull(grad::kYGrad);
    const T share = T(1) / static_cast<T>(k);
    const T* from = g.data<T>();
    if (k == 0) return;
    for (int64_t i = 0; i < x.dim(0); ++i) {
      if (dx && m > 0)
        kernels::MatMul<T>(false, false, m, k, n, share, from + i * m * n, n,
                           y.data<T>() + i * n * k, k, T(0), dx->mutable_data<T>() + i * m * k, k);
      if (dy && n > 0)
        kernels::MatMul<T>(true, false, n, k, m, share, from + i * m * n, n,
                           x.data<T>() + i * m * k, k, T(0), dy->mutable_data<T>() + i * n * k, k);
    }
  }
};

REGISTER_OPERATOR(fsp, DefineFsp);
REGISTER_KERNELS(fsp, FspKernel, float, double);
REGISTER_OPERATOR(fsp_grad, DefineGrad<kFsp>);
REGISTER_KERNELS(fsp_grad, FspGradKernel, float, double);

}  // namespace
}  // namespace dygraph::two_factors

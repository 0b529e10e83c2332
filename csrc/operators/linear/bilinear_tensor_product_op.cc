#include "kernels/matmul.h"
#include "kernels/row_dots.h"
#include "op/lod_rule.h"
#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kY = 1, kWeight = 2, kBias = 3, kOut = 0;

void InferShape(InferContext& ctx) {
  const Dims &x = ctx.dims(kX), &y = ctx.dims(kY), &w = ctx.dims(kWeight);
  ENFORCE(x.rank() == 2 && y.rank() == 2 && (x[0] == y[0] || !BothKnown(x[0], y[0])),
          InvalidArgument, "X and Y must be matrices of equally many rows, got X ", x, " and Y ",
          y);
  bool fits = w.rank() == 3 && (w[1] == x[1] || !BothKnown(w[1], x[1])) &&
              (w[2] == y[1] || !BothKnown(w[2], y[1]));
  ENFORCE(fits, InvalidArgument, "Weight must be [k, columns of X, columns of Y] for X ", x,
          " and Y ", y, ", got ", w);
  if (ctx.HasInput(kBias)) {
    const Dims& b = ctx.dims(kBias);
    ENFORCE(b.HasUnknown() || w[0] < 0 || (b.rank() == 2 && b[0] == 1 && b[1] == w[0]),
            InvalidArgument, "Bias must have shape [1, ", w[0], "], got ", b);
  }
  ctx.SetOutput(kOut, {x[0], w[0]});
}

void DefineBilinear(OpDef& op) {
  op.Comment("Out[b, k] = X[b] Weight[k] Y[b]^T + Bias[k].")
      .Example(
          ">>> x, y = to_variable([[1.0, 2.0]]), to_variable([[3.0, 4.0]])\n"
          ">>> weight = to_variable([[[1.0, 0.0], [0.0, 1.0]]])\n"
          ">>> F.bilinear_tensor_product(x, y, weight).tolist()\n"
          "[[11.0]]")
      .Input(kX, "X", "[rows, m]")
      .Input(kY, "Y", "[rows, n]")
      .Input(kWeight, "Weight", "[k, m, n]")
      .Input(kBias, "Bias", "[1, k]", kDispensable)
      .Output(kOut, "Out", "[rows, k]")
      .Shape(InferShape)
      .ShareLoD(kX)
      .Grad([](GradBuilder& g) {
        RecipeRef x = g.Input(kX), y = g.Input(kY), w = g.Input(kWeight), out = g.OutputGrad(kOut);
        auto product = [&g](const char* equation, RecipeRef a, RecipeRef b, RecipeRef c, int slot) {
          g.Call("einsum", {RecipeSlot({a, b, c})}, {g.InputGrad(slot)})
              .Attr("equation", std::string(equation));
        };
        product("bk,kmn,bn->bm", out, w, y, kX);
        product("bk,kmn,bm->bn", out, w, x, kY);
        product("bk,bm,bn->kmn", out, x, y, kWeight);
        if (g.HasInput(kBias)) {
          g.Call("reduce_sum", {out}, {g.InputGrad(kBias)})
              .Attr("dim", std::vector<int32_t>{0})
              .Attr("keep_dim", true);
        }
      });
}

template <class T>
struct BilinearKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &y = ctx.In(kY), &w = ctx.In(kWeight);
    const Tensor* bias = ctx.InOrNull(kBias);
    int64_t rows = x.dim(0), m = x.dim(1), n = y.dim(1), count = w.dim(0);
    T* to = ctx.Out(kOut).mutable_data<T>();
    Tensor turned({rows, n}, x.dtype(), x.place());  // X Weight[k]
    const T *xd = x.data<T>(), *yd = y.data<T>(), *wd = w.data<T>();
    const T* b = bias ? bias->data<T>() : nullptr;
    T* t = turned.mutable_data<T>();
    for (int64_t k = 0; k < count; ++k) {
      if (m > 0 && n > 0 && rows > 0)
        kernels::MatMul<T>(false, false, rows, n, m, T(1), xd, m, wd + k * m * n, n, T(0), t, n);
      kernels::RowDots(static_cast<const T*>(t), n, yd, n, rows, m > 0 ? n : 0,
                       [=] DYGRAPH_FN(int64_t) { return b ? static_cast<double>(b[k]) : 0.0; },
                       [=] DYGRAPH_FN(int64_t r, double sum) {
                         to[r * count + k] = static_cast<T>(sum);
                       });
    }
  }
};

REGISTER_OPERATOR(bilinear_tensor_product, DefineBilinear);
REGISTER_LOD_ALSO(bilinear_tensor_product, kY);
REGISTER_KERNELS(bilinear_tensor_product, BilinearKernel, float, double);

}  // namespace
}  // namespace dygraph

#include "op/lod_rule.h"
#include "operators/linear/matrix_products.h"

namespace dygraph::matmul {
namespace {

constexpr int kX = 0, kY = 1, kOut = 0;

struct MatmulAttrs {
  bool transpose_X = false;
  bool transpose_Y = false;
  double alpha = 1.0;
  std::vector<int32_t> fused_reshape_Out, fused_transpose_Out;
  int32_t head_number = 1;
};

// Fluid's rule: a vector is the row [1, k] on the left, the column [k, 1] on the right, and
// transposing turns it round.
Product Of(const Dims& x, const Dims& y, const MatmulAttrs& a) {
  ENFORCE(!x.empty() && !y.empty(), InvalidArgument, "X and Y must have at least one axis, got X ",
          x, " and Y ", y);
  ENFORCE(a.head_number == 1 && a.fused_reshape_Out.empty() && a.fused_transpose_Out.empty(),
          Unimplemented,
          "head_number, fused_reshape_Out and fused_transpose_Out must be left at their defaults, "
          "got others. Write the reshapes as operators");
  return Describe(x.rank() == 1 ? Dims{1, x[0]} : x, y.rank() == 1 ? Dims{y[0], 1} : y,
                  a.transpose_X, a.transpose_Y);
}

void InferShape(InferContext& ctx) {
  const Dims &x = ctx.dims(kX), &y = ctx.dims(kY);
  Product p = Of(x, y, ctx.attrs<MatmulAttrs>());
  Dims out = p.batch;
  if (x.rank() > 1 || p.m != 1) out.push_back(p.m);
  if (y.rank() > 1 || p.n != 1) out.push_back(p.n);
  if (out.empty()) out.push_back(1);  // two vectors give [1]
  ctx.SetOutput(kOut, out);
}

void DefineMatmul(OpDef& op) {
  op.Comment(
        "Out = alpha op(X) op(Y), the matrix product over the last two axes, op transposing where "
        "transpose_X, transpose_Y. Leading axes broadcast. A 1-D X is the row [1, k], a 1-D Y the "
        "column [k, 1], and transposing turns them round; two vectors give [1].")
      .Example(
          ">>> x = to_variable([[1.0, 2.0], [3.0, 4.0]])\n"
          ">>> F.matmul(x, to_variable([[1.0], [1.0]])).tolist()\n"
          "[[3.0], [7.0]]\n"
          ">>> F.matmul(x, to_variable([[1.0], [1.0]]), transpose_X=True, alpha=2.0).tolist()\n"
          "[[8.0], [12.0]]")
      .Input(kX, "X", "[..., m, k] or [k]")
      .Input(kY, "Y", "[..., k, n] or [k]")
      .Output(kOut, "Out", "[..., m, n]")
      .Attr(&MatmulAttrs::transpose_X, "transpose_X", "transpose the last two axes of X first")
      .Attr(&MatmulAttrs::transpose_Y, "transpose_Y", "transpose the last two axes of Y first")
      .Attr(&MatmulAttrs::alpha, "alpha", "factor on the product")
      .Attr(&MatmulAttrs::fused_reshape_Out, "fused_reshape_Out", "of fused programs; empty")
      .Attr(&MatmulAttrs::fused_transpose_Out, "fused_transpose_Out", "of fused programs; empty")
      .Attr(&MatmulAttrs::head_number, "head_number", "of fused programs; 1")
      .Shape(InferShape)
      .ShareLoD(kX)
      .Grad([](GradBuilder& g) { BilinearGrad(g, "matmul_grad"); });
}

template <class T>
struct MatmulKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &y = ctx.In(kY);
    const MatmulAttrs& a = ctx.attrs<MatmulAttrs>();
    Multiply<T>(Of(x.dims(), y.dims(), a), static_cast<kernels::Wide<T>>(a.alpha), x.data<T>(),
                y.data<T>(), ctx.Out(kOut).mutable_data<T>());
  }
};

namespace grad {
constexpr int kX = 0, kY = 1, kOutGrad = 2, kXGrad = 0, kYGrad = 1;

void DefineMatmulGrad(OpDef& op) {
  op.Comment(
        "X@GRAD = alpha Out@GRAD op(Y)^T and Y@GRAD = alpha op(X)^T Out@GRAD, undoing the "
        "transpositions, summed over leading axes that were broadcast.")
      .Input(kX, "X", "its shape; its values for Y@GRAD")
      .Input(kY, "Y", "its shape; its values for X@GRAD")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .Output(kYGrad, "Y@GRAD", "shape of Y")
      .AttrsOf("matmul")
      .Shape(InferGradShape)
      .KernelDTypeOf(kOutGrad)
      .Grad([](GradBuilder& g) { BilinearGradGrad(g, "matmul", "matmul_grad"); });
}

template <class T>
struct MatmulGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &y = ctx.In(kY);
    const MatmulAttrs& a = ctx.attrs<MatmulAttrs>();
    MultiplyGrad<T>(Of(x.dims(), y.dims(), a), static_cast<kernels::Wide<T>>(a.alpha), x, y,
                    ctx.In(kOutGrad).data<T>(), ctx.OutOrNull(kXGrad), ctx.OutOrNull(kYGrad));
  }
};
}  // namespace grad

// Rows of X, a matrix that is not transposed, or matrices of a batch. A transposed vector is a
// matrix.
bool KeepsRows(const LoDCall& c) {
  if (c.slot == kY && c.from.rank() < 3) return false;
  bool transposed = c.attrs<MatmulAttrs>().transpose_X;
  int rank = c.from.rank();
  if (rank == 1) return transposed && c.out.rank() == 2;
  return c.out.rank() <= rank && (rank > 2 || !transposed);
}

REGISTER_OPERATOR(matmul, DefineMatmul);
REGISTER_LOD_ALSO(matmul, kY);
REGISTER_LOD_RULE(matmul, KeepsRows);
REGISTER_KERNELS(matmul, MatmulKernel, float, double);
REGISTER_DEVICE_TYPES(matmul, MatmulKernel, float16, bfloat16);
REGISTER_OPERATOR(matmul_grad, grad::DefineMatmulGrad);
REGISTER_KERNELS(matmul_grad, grad::MatmulGradKernel, float, double);
REGISTER_DEVICE_TYPES(matmul_grad, grad::MatmulGradKernel, float16, bfloat16);

}  // namespace
}  // namespace dygraph::matmul

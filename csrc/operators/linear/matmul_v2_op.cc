#include "op/lod_rule.h"
#include "operators/linear/matrix_products.h"

namespace dygraph::matmul {
namespace {

constexpr int kX = 0, kY = 1, kOut = 0;

struct MatmulV2Attrs {
  bool trans_x = false;
  bool trans_y = false;
};

__attribute__((noinline)) void InferAnyShape(InferContext& ctx, const Dims& x, const Dims& y) {
  const MatmulV2Attrs& a = ctx.attrs<MatmulV2Attrs>();
  Product p = Describe(x, y, a.trans_x, a.trans_y);
  Dims out = p.batch;
  if (x.rank() > 1) out.push_back(p.m);
  if (y.rank() > 1) out.push_back(p.n);
  ctx.SetOutput(kOut, out);
}

void InferShape(InferContext& ctx) {
  const Dims &x = ctx.dims(kX), &y = ctx.dims(kY);
  const MatmulV2Attrs& a = ctx.attrs<MatmulV2Attrs>();
  if (x.rank() == 2 && y.rank() == 2 && x[!a.trans_x] == y[a.trans_y])  // the usual case, at once
    return ctx.SetOutput(kOut, {x[a.trans_x], y[!a.trans_y]});
  InferAnyShape(ctx, x, y);
}

void DefineMatmulV2(OpDef& op) {
  op.Comment(
        "Out = op(X) op(Y), the matrix product over the last two axes, op transposing where "
        "trans_x, trans_y. Leading axes "
        "broadcast; a 1-D operand is a row on the left and a column on the right, as in NumPy's "
        "matmul. Integers wrap.")
      .Example(
          ">>> x = to_variable([[1.0, 2.0], [3.0, 4.0]])\n"
          ">>> F.matmul_v2(x, to_variable([[0.0, 1.0], [1.0, 0.0]])).tolist()\n"
          "[[2.0, 1.0], [4.0, 3.0]]\n"
          ">>> F.matmul_v2(x, to_variable([1.0, 1.0])).tolist()\n"
          "[3.0, 7.0]")
      .Input(kX, "X", "[..., m, k] or [k]")
      .Input(kY, "Y", "[..., k, n] or [k]")
      .Output(kOut, "Out", "[..., m, n]")
      .Attr(&MatmulV2Attrs::trans_x, "trans_x", "transpose the last two axes of X first")
      .Attr(&MatmulV2Attrs::trans_y, "trans_y", "transpose the last two axes of Y first")
      .Shape(InferShape)
      .ShareLoD(kX)
      .Grad([](GradBuilder& g) { BilinearGrad(g, "matmul_v2_grad"); });
}

template <class T>
struct MatmulV2Kernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &y = ctx.In(kY);
    const MatmulV2Attrs& a = ctx.attrs<MatmulV2Attrs>();
    Tensor& out = ctx.Out(kOut);
    T* to = out.mutable_data<T>();
    if constexpr (!std::is_integral_v<T>) {
      if (x.rank() == 2 && y.rank() == 2) {  // the usual case, at once
        return kernels::MatMul<T>(a.trans_x, a.trans_y, out.dim(0), out.dim(1), x.dim(!a.trans_x),
                                  T(1), x.data<T>(), x.dim(1), y.data<T>(), y.dim(1), T(0), to,
                                  out.dim(1));
      }
    }
    ComputeAny(x, y, a, to);
  }

 private:
  __attribute__((noinline)) static void ComputeAny(const Tensor& x, const Tensor& y,
                                                   const MatmulV2Attrs& a, T* to) {
    Product p = Describe(x.dims(), y.dims(), a.trans_x, a.trans_y);
    if constexpr (std::is_integral_v<T>) {
      MultiplyIntegers(p, x.data<T>(), y.data<T>(), to);
    } else {
      Multiply<T>(p, T(1), x.data<T>(), y.data<T>(), to);
    }
  }
};

namespace grad {
constexpr int kX = 0, kY = 1, kOutGrad = 2, kXGrad = 0, kYGrad = 1;

void DefineMatmulV2Grad(OpDef& op) {
  op.Comment(
        "X@GRAD = Out@GRAD op(Y)^T and Y@GRAD = op(X)^T Out@GRAD, undoing the transpositions, "
        "summed over leading axes that were "
        "broadcast.")
      .Input(kX, "X", "its shape; its values for Y@GRAD")
      .Input(kY, "Y", "its shape; its values for X@GRAD")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .Output(kYGrad, "Y@GRAD", "shape of Y")
      .AttrsOf("matmul_v2")
      .Shape(InferGradShape)
      .KernelDTypeOf(kOutGrad)
      .Grad([](GradBuilder& g) { BilinearGradGrad(g, "matmul_v2", "matmul_v2_grad"); });
}

template <class T>
struct MatmulV2GradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &y = ctx.In(kY);
    const MatmulV2Attrs& a = ctx.attrs<MatmulV2Attrs>();
    MultiplyGrad<T>(Describe(x.dims(), y.dims(), a.trans_x, a.trans_y), T(1), x, y,
                    ctx.In(kOutGrad).data<T>(), ctx.OutOrNull(kXGrad), ctx.OutOrNull(kYGrad));
  }
};
}  // namespace grad

// Rows of X, a matrix that is not transposed, or matrices of a batch; not those of a vector.
bool KeepsRows(const LoDCall& c) {
  int rank = c.from.rank();
  if (c.slot == kY && rank < 3) return false;
  return c.out.rank() <= rank && (rank > 2 || (rank == 2 && !c.attrs<MatmulV2Attrs>().trans_x));
}

REGISTER_OPERATOR(matmul_v2, DefineMatmulV2);
REGISTER_LOD_ALSO(matmul_v2, kY);
REGISTER_LOD_RULE(matmul_v2, KeepsRows);
REGISTER_KERNELS(matmul_v2, MatmulV2Kernel, float, double, int32_t, int64_t);
REGISTER_DEVICE_TYPES(matmul_v2, MatmulV2Kernel, float16, bfloat16);
REGISTER_OPERATOR(matmul_v2_grad, grad::DefineMatmulV2Grad);
REGISTER_KERNELS(matmul_v2_grad, grad::MatmulV2GradKernel, float, double);
REGISTER_DEVICE_TYPES(matmul_v2_grad, grad::MatmulV2GradKernel, float16, bfloat16);

}  // namespace
}  // namespace dygraph::matmul

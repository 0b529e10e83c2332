// The mul operator of "how to write a new operator" (004) with the headers of this library. Its
// name is doc_mul, since mul is taken. That X, Y and Out are there is checked from the slots, and
// where Y was not initialized the library says to run the startup program; neither is written here.
#include "kernels/gemm.h"
#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kY = 1, kOut = 0;

struct DocMulAttrs {
  bool use_mkldnn = false;
  int32_t x_num_col_dims = 1;
  int32_t y_num_col_dims = 1;
  float scale_x = 1.0f;
  std::vector<float> scale_y = {1.0f};
  float scale_out = 1.0f;
  bool force_fp32_output = false;
};

// A size that is unknown when a program is described is -1, and so is what is computed of it.
int64_t Product(const Dims& dims, int begin, int end) {
  int64_t n = 1;
  for (int i = begin; i < end; ++i) n = MulSizes(n, dims[i]);
  return n;
}

Dims FlattenTo2d(const Dims& dims, int num_col_dims) {
  return Dims{Product(dims, 0, num_col_dims), Product(dims, num_col_dims, dims.rank())};
}

void InferShape(InferContext& ctx) {
  const Dims &x_dims = ctx.dims(kX), &y_dims = ctx.dims(kY);
  const auto& a = ctx.attrs<DocMulAttrs>();
  ENFORCE(x_dims.rank() > a.x_num_col_dims, InvalidArgument,
          "The input tensor X's dimensions of MulOp should be larger than x_num_col_dims. But "
          "received X's dimensions = ",
          x_dims.rank(), ", X's shape = ", x_dims, ", x_num_col_dims = ", a.x_num_col_dims, ".");
  ENFORCE(y_dims.rank() > a.y_num_col_dims, InvalidArgument,
          "The input tensor Y's dimensions of MulOp should be larger than y_num_col_dims. But "
          "received Y's dimensions = ",
          y_dims.rank(), ", Y's shape = ", y_dims, ", y_num_col_dims = ", a.y_num_col_dims, ".");
  Dims x_mat = FlattenTo2d(x_dims, a.x_num_col_dims), y_mat = FlattenTo2d(y_dims, a.y_num_col_dims);
  ENFORCE(x_mat[1] == y_mat[0] || !BothKnown(x_mat[1], y_mat[0]), InvalidArgument,
          "After flatten the input tensor X and Y to 2-D dimensions matrix X1 and Y1, the matrix "
          "X1's width must be equal with matrix Y1's height. But received X's shape = ",
          x_dims, ", X1's shape = ", x_mat, ", X1's width = ", x_mat[1], "; Y's shape = ", y_dims,
          ", Y1's shape = ", y_mat, ", Y1's height = ", y_mat[0], ".");
  Dims out(x_dims.begin(), x_dims.begin() + a.x_num_col_dims);
  out.Append(y_dims.begin() + a.y_num_col_dims, y_dims.end());
  ctx.SetOutput(kOut, out);
}

void DefineDocMul(OpDef& op) {
  op.Comment("Mul Operator. Out = X * Y. The output only shares the LoD information with X.")
      .Input(kX, "X", "(Tensor), The first input tensor of mul op.")
      .Input(kY, "Y", "(Tensor), The second input tensor of mul op.")
      .Output(kOut, "Out", "(Tensor), The output tensor of mul op.")
      .Attr(&DocMulAttrs::use_mkldnn, "use_mkldnn", "(bool, default false) of another kernel")
      .Attr(&DocMulAttrs::x_num_col_dims, "x_num_col_dims",
            "(int, default 1), the first axes of X, which make the rows of its matrix", AtLeast(1))
      .Attr(&DocMulAttrs::y_num_col_dims, "y_num_col_dims",
            "(int, default 1), the first axes of Y, which make the rows of its matrix", AtLeast(1))
      .Attr(&DocMulAttrs::scale_x, "scale_x", "of quantised input")
      .Attr(&DocMulAttrs::scale_y, "scale_y", "of quantised input")
      .Attr(&DocMulAttrs::scale_out, "scale_out", "of quantised output")
      .Attr(&DocMulAttrs::force_fp32_output, "force_fp32_output", "of quantised output")
      .Shape(InferShape)
      .KernelDTypeOf(kX)
      .ShareLoD(kX)
      .Grad([](GradBuilder& g) {  // MulOpGradMaker: one maker serves programs and eager calls
        g.Call("doc_mul_grad", {g.Input(kX), g.Input(kY), g.OutputGrad(kOut)},
               {g.InputGrad(kX), g.InputGrad(kY)})
            .SameAttrs();
      });
}

struct Sizes {  // X is [m, k], Y is [k, n]
  int64_t m, k, n;
  Sizes(const Tensor& x, const Tensor& y, const DocMulAttrs& a)
      : m(Product(x.dims(), 0, a.x_num_col_dims)),
        k(Product(y.dims(), 0, a.y_num_col_dims)),
        n(Product(y.dims(), a.y_num_col_dims, y.rank())) {}
};

template <class T>
struct DocMulKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &y = ctx.In(kY);
    Sizes s(x, y, ctx.attrs<DocMulAttrs>());
    kernels::Gemm<T>(false, false, s.m, s.n, s.k, T(1), x.data<T>(), s.k, y.data<T>(), s.n, T(0),
                     ctx.Out(kOut).mutable_data<T>(), s.n);
  }
};

namespace grad {
constexpr int kX = 0, kY = 1, kOutGrad = 2, kXGrad = 0, kYGrad = 1;

void DefineDocMulGrad(OpDef& op) {
  op.Comment("X@GRAD = Out@GRAD * Y', Y@GRAD = X' * Out@GRAD, of the matrices.")
      .Input(kX, "X", "input of doc_mul")
      .Input(kY, "Y", "input of doc_mul")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .Output(kYGrad, "Y@GRAD", "shape of Y")
      .AttrsOf("doc_mul")
      .Shape([](InferContext& ctx) {
        ctx.SetOutput(kXGrad, ctx.dims(kX));
        ctx.SetOutput(kYGrad, ctx.dims(kY));
      })
      .Grad([](GradBuilder& g) {
        RecipeRef ddx = g.OutputGrad(kXGrad), ddy = g.OutputGrad(kYGrad), d_out = g.Input(kOutGrad);
        RecipeRef a = g.Temp(), b = g.Temp();
        g.Call("doc_mul", {ddx, g.Input(kY)}, {a}).SameAttrs();
        g.Call("doc_mul", {g.Input(kX), ddy}, {b}).SameAttrs();
        g.Call("sum", {RecipeSlot({a, b})}, {g.InputGrad(kOutGrad)});
        g.Call("doc_mul_grad", {g.Input(kX), ddy, d_out}, {g.InputGrad(kX), {}}).SameAttrs();
        g.Call("doc_mul_grad", {ddx, g.Input(kY), d_out}, {{}, g.InputGrad(kY)}).SameAttrs();
      });
}

template <class T>
struct DocMulGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &y = ctx.In(kY);
    const T* d = ctx.In(kOutGrad).data<T>();
    Sizes s(x, y, ctx.attrs<DocMulAttrs>());
    if (Tensor* dx = ctx.OutOrNull(kXGrad)) {
      kernels::Gemm<T>(false, true, s.m, s.k, s.n, T(1), d, s.n, y.data<T>(), s.n, T(0),
                       dx->mutable_data<T>(), s.k);
    }
    if (Tensor* dy = ctx.OutOrNull(kYGrad)) {
      kernels::Gemm<T>(true, false, s.k, s.n, s.m, T(1), x.data<T>(), s.k, d, s.n, T(0),
                       dy->mutable_data<T>(), s.n);
    }
  }
};
}  // namespace grad

REGISTER_OPERATOR(doc_mul, DefineDocMul);
REGISTER_CPU_KERNEL(doc_mul, DocMulKernel, float, double);
REGISTER_OPERATOR(doc_mul_grad, grad::DefineDocMulGrad);
REGISTER_CPU_KERNEL(doc_mul_grad, grad::DocMulGradKernel, float, double);

}  // namespace
}  // namespace dygraph

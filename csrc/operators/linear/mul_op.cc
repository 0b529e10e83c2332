#include "kernels/matmul.h"
#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kY = 1, kOut = 0;

struct MulAttrs {
  int32_t x_num_col_dims = 1;
  int32_t y_num_col_dims = 1;
  bool use_mkldnn = false;
  double scale_x = 1.0;
  std::vector<float> scale_y = {1.0f};
  double scale_out = 1.0;
  bool force_fp32_output = false;
};

// Product of axes [begin, end); -1 where one is unknown.
int64_t SizeOfAxes(const Dims& dims, int begin, int end) {
  int64_t n = 1;
  for (int i = begin; i < end; ++i) n = MulSizes(n, dims[i]);
  return n;
}

Dims Flattened(const Dims& dims, int at) {
  return Dims{SizeOfAxes(dims, 0, at), SizeOfAxes(dims, at, dims.rank())};
}

void CheckFlattens(const char* slot, const Dims& dims, const char* attr, int num_col_dims) {
  ENFORCE(dims.rank() > num_col_dims, InvalidArgument, slot, " must have more axes than ", attr,
          ", got ", dims.rank(), " of shape ", dims, " and ", attr, " ", num_col_dims);
}

void InferShape(InferContext& ctx) {
  const Dims &x = ctx.dims(kX), &y = ctx.dims(kY);
  const MulAttrs& a = ctx.attrs<MulAttrs>();
  CheckFlattens("X", x, "x_num_col_dims", a.x_num_col_dims);
  CheckFlattens("Y", y, "y_num_col_dims", a.y_num_col_dims);
  Dims x_matrix = Flattened(x, a.x_num_col_dims), y_matrix = Flattened(y, a.y_num_col_dims);
  int64_t width = x_matrix[1], height = y_matrix[0];
  ENFORCE(width == height || !BothKnown(width, height), InvalidArgument, "the width of X ", x,
          ", flattened at ", a.x_num_col_dims, " to ", x_matrix, ", must be the height of Y ", y,
          ", flattened at ", a.y_num_col_dims, " to ", y_matrix, ", got ", width, " and ", height);
  Dims out(x.begin(), x.begin() + a.x_num_col_dims);
  out.Append(y.begin() + a.y_num_col_dims, y.end());
  ctx.SetOutput(kOut, out);
}

void DefineMul(OpDef& op) {
  op.Comment(
        "Out = X Y, the matrix product of X and Y flattened to matrices: the first num_col_dims "
        "axes make the rows, the others "
        "the columns. X [2, 3, 4, 5, 6] with x_num_col_dims = 3 is a matrix [24, 30].")
      .Example(
          ">>> x, y = to_variable(np.ones((2, 3, 4))), to_variable(np.ones((12, 5)))\n"
          ">>> out = F.mul(x, y)  # x is taken for a matrix [2, 12]\n"
          ">>> out.shape, out.numpy()[0, 0].item()\n"
          "((2, 5), 12.0)")
      .Input(kX, "X", "at least x_num_col_dims + 1 axes")
      .Input(kY, "Y", "at least y_num_col_dims + 1 axes")
      .Output(kOut, "Out",
              "the first x_num_col_dims axes of X, then those of Y from y_num_col_dims on")
      .Attr(&MulAttrs::x_num_col_dims, "x_num_col_dims", "axes of X that make rows", AtLeast(1))
      .Attr(&MulAttrs::y_num_col_dims, "y_num_col_dims", "axes of Y that make rows", AtLeast(1))
      .Attr(&MulAttrs::use_mkldnn, "use_mkldnn", "of programs; the library follows from the size")
      .Attr(&MulAttrs::scale_x, "scale_x", "of quantised programs")
      .Attr(&MulAttrs::scale_y, "scale_y", "of quantised programs")
      .Attr(&MulAttrs::scale_out, "scale_out", "of quantised programs")
      .Attr(&MulAttrs::force_fp32_output, "force_fp32_output", "of quantised programs")
      .Shape(InferShape)
      .ShareLoD(kX)
      .Grad([](GradBuilder& g) {
        g.Call("mul_grad",
               {g.Wants(kY) ? g.Input(kX) : g.InputShape(kX),
                g.Wants(kX) ? g.Input(kY) : g.InputShape(kY), g.OutputGrad(kOut)},
               {g.InputGrad(kX), g.InputGrad(kY)})
            .SameAttrs();
      });
}

struct Matrices {  // X is [m, k], Y is [k, n]
  int64_t m, n, k;
  Matrices(const Dims& x, const Dims& y, const MulAttrs& a)
      : m(Numel(x, 0, a.x_num_col_dims)),
        n(Numel(y, a.y_num_col_dims, y.rank())),
        k(Numel(y, 0, a.y_num_col_dims)) {}
};

template <class T>
struct MatrixMulKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &y = ctx.In(kY);
    Matrices s(x.dims(), y.dims(), ctx.attrs<MulAttrs>());
    kernels::MatMul<T>(false, false, s.m, s.n, s.k, T(1), x.data<T>(), s.k, y.data<T>(), s.n, T(0),
                       ctx.Out(kOut).mutable_data<T>(), s.n);
  }
};

namespace grad {
constexpr int kX = 0, kY = 1, kOutGrad = 2, kXGrad = 0, kYGrad = 1;

void InferGradShape(InferContext& ctx) {
  ctx.SetOutput(kXGrad, ctx.dims(kX), ctx.dtype(kX));
  ctx.SetOutput(kYGrad, ctx.dims(kY), ctx.dtype(kY));
}

void DefineMulGrad(OpDef& op) {
  op.Comment("X@GRAD = Out@GRAD Y^T and Y@GRAD = X^T Out@GRAD, of the flattened matrices.")
      .Input(kX, "X", "its shape; its values for Y@GRAD")
      .Input(kY, "Y", "its shape; its values for X@GRAD")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .Output(kYGrad, "Y@GRAD", "shape of Y")
      .AttrsOf("mul")
      .Shape(InferGradShape)
      .KernelDTypeOf(kOutGrad)
      .Grad([](GradBuilder& g) {
        RecipeRef ddx = g.OutputGrad(kXGrad), ddy = g.OutputGrad(kYGrad);
        RecipeRef a = g.Temp(), b = g.Temp();
        g.Call("mul", {ddx, g.Input(kY)}, {a}).SameAttrs();
        g.Call("mul", {g.Input(kX), ddy}, {b}).SameAttrs();
        g.Call("sum", {RecipeSlot({a, b})}, {g.InputGrad(kOutGrad)});
        g.Call("mul_grad", {g.InputShape(kX), ddy, g.Input(kOutGrad)}, {g.InputGrad(kX), {}})
            .SameAttrs();
        g.Call("mul_grad", {ddx, g.InputShape(kY), g.Input(kOutGrad)}, {{}, g.InputGrad(kY)})
            .SameAttrs();
      });
}

template <class T>
struct MatrixMulGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &y = ctx.In(kY);
    const T* g = ctx.In(kOutGrad).data<T>();
    Matrices s(x.dims(), y.dims(), ctx.attrs<MulAttrs>());
    if (Tensor* out = ctx.OutOrNull(kXGrad)) {
      kernels::MatMul<T>(false, true, s.m, s.k, s.n, T(1), g, s.n, y.data<T>(), s.n, T(0),
                         out->mutable_data<T>(), s.k);
    }
    if (Tensor* out = ctx.OutOrNull(kYGrad)) {
      kernels::MatMul<T>(true, false, s.k, s.n, s.m, T(1), x.data<T>(), s.k, g, s.n, T(0),
                         out->mutable_data<T>(), s.n);
    }
  }
};
}  // namespace grad

REGISTER_OPERATOR(mul, DefineMul);
REGISTER_KERNELS(mul, MatrixMulKernel, float, double);
REGISTER_DEVICE_TYPES(mul, MatrixMulKernel, float16, bfloat16);
REGISTER_OPERATOR(mul_grad, grad::DefineMulGrad);
REGISTER_KERNELS(mul_grad, grad::MatrixMulGradKernel, float, double);
REGISTER_DEVICE_TYPES(mul_grad, grad::MatrixMulGradKernel, float16, bfloat16);

}  // namespace
}  // namespace dygraph

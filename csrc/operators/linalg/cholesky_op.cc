#include "operators/linalg/factor_loops.h"

namespace dygraph::linalg {
namespace {

constexpr int kX = 0, kOut = 0;

struct CholeskyAttrs {
  bool upper = false;
};

void DefineCholesky(OpDef& op) {
  op.Comment(
        "X = Out Out^T with lower triangular Out, or with upper X = Out^T Out with upper "
        "triangular Out, of each symmetric positive definite matrix. Only that triangle of X is "
        "read; the gradient is symmetric. A matrix that is not positive definite raises.")
      .Example(
          ">>> F.cholesky(to_variable([[4.0, 2.0], [2.0, 5.0]])).tolist()\n"
          "[[2.0, 0.0], [1.0, 2.0]]")
      .Input(kX, "X", "[..., n, n]")
      .Output(kOut, "Out", "shape of X")
      .Attr(&CholeskyAttrs::upper, "upper", "the upper factor")
      .Shape([](InferContext& ctx) {
        Stack s = SquareOf(ctx.dims(kX));
        ctx.SetOutput(kOut, s.With({s.n, s.n}));
      })
      // Murray, "Differentiation of the Cholesky decomposition" (2016), (10): with P = the lower
      // triangle of L^T L@GRAD, its diagonal halved, X@GRAD = sym(L^-T P L^-1)
      .Grad([](GradBuilder& g) {
        Formula f(g);
        const bool upper = g.attrs<CholeskyAttrs>().upper;
        RecipeRef l = g.Output(kOut), given = f.Triangle(g.OutputGrad(kOut), !upper, 0);
        // for U = L^T, U U@GRAD^T
        RecipeRef m = f.MatMul(l, given, !upper, upper);
        RecipeRef half = g.ApplyScale(f.Sum({f.Lower(m), f.Lower(m, -1)}), 0.5);
        // L^-T p L^-1
        RecipeRef left = f.Triangular(l, half, upper, !upper);
        // the transpose of left L^-1
        RecipeRef both = f.Triangular(l, f.T(left), upper, !upper);
        RecipeRef sum = f.Sum({both, f.T(both)});
        g.Call("scale", {sum}, {g.InputGrad(kX)}).Attr("scale", 0.5);
      });
}

template <class T>
struct CholeskyKernel {
  static void Compute(KernelContext& ctx) {
    const Stack s = SquareOf(ctx.In(kX).dims());
    const bool upper = ctx.attrs<CholeskyAttrs>().upper;
    const T* x = ctx.In(kX).data<T>();
    T* to = ctx.Out(kOut).mutable_data<T>();
    FactorPositive(s, upper, x, to);
  }
};

REGISTER_OPERATOR(cholesky, DefineCholesky);
REGISTER_KERNELS(cholesky, CholeskyKernel, float, double);

}  // namespace
}  // namespace dygraph::linalg

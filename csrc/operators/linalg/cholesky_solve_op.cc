#include "operators/linalg/factor_loops.h"

namespace dygraph::linalg {
namespace {

constexpr int kX = 0, kY = 1, kOut = 0;

struct CholeskySolveAttrs {
  bool upper = false;
};

void DefineCholeskySolve(OpDef& op) {
  op.Comment(
        "Y Y^T Out = X for lower triangular Y, or Y^T Y Out = X with upper: the system whose "
        "Cholesky factor is Y. Only that triangle of Y is read. A 0 on its diagonal raises.")
      .Example(
          ">>> y = to_variable([[2.0, 0.0], [1.0, 2.0]])\n"
          ">>> F.cholesky_solve(to_variable([[8.0], [14.0]]), y).tolist()\n"
          "[[0.75], [2.5]]")
      .Input(kX, "X", "[..., n, k]; leading axes broadcast with Y's")
      .Input(kY, "Y", "[..., n, n]")
      .Output(kOut, "Out", "[..., n, k]")
      .Attr(&CholeskySolveAttrs::upper, "upper", "Y is upper triangular")
      .Shape([](InferContext& ctx) {
        ctx.SetOutput(kOut, ResultOf(SystemOf(ctx.dims(kY), ctx.dims(kX), "Y", "X")));
      })
      // with A = Y Y^T as in solve: X@GRAD = A^-1 Out@GRAD, A@GRAD = -X@GRAD Out^T, and
      // Y@GRAD = (A@GRAD + A@GRAD^T) Y
      .Grad([](GradBuilder& g) {
        Formula f(g);
        const bool upper = g.attrs<CholeskySolveAttrs>().upper;
        RecipeRef whole = g.Temp(), y = f.Triangle(g.Input(kY), !upper, 0);
        g.Call("cholesky_solve", {g.OutputGrad(kOut), g.Input(kY)}, {whole}).SameAttrs();
        f.Reduce(g.InputShape(kX), whole, g.InputGrad(kX));
        RecipeRef a = f.MinusOuter(g.InputShape(kY), g.Output(kOut), whole);
        RecipeRef both = f.Sum({a, f.T(a)});
        RecipeRef given = upper ? f.MatMul(y, both) : f.MatMul(both, y);
        g.Call("tril_triu", {given}, {g.InputGrad(kY)}).Attr("lower", !upper);
      });
}

template <class T>
struct CholeskySolveKernel {
  static void Compute(KernelContext& ctx) {
    const matmul::Product p = SystemOf(ctx.In(kY).dims(), ctx.In(kX).dims(), "Y", "X");
    const bool upper = ctx.attrs<CholeskySolveAttrs>().upper;
    const T *x = ctx.In(kX).data<T>(), *y = ctx.In(kY).data<T>();
    T* to = ctx.Out(kOut).mutable_data<T>();
    SolveFactored(p, upper, y, x, to);
  }
};

REGISTER_OPERATOR(cholesky_solve, DefineCholeskySolve);
REGISTER_KERNELS(cholesky_solve, CholeskySolveKernel, float, double);

}  // namespace
}  // namespace dygraph::linalg

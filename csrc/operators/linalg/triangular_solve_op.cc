#include "operators/linalg/factor_loops.h"

namespace dygraph::linalg {
namespace {

constexpr int kX = 0, kY = 1, kOut = 0;

struct TriangularSolveAttrs {
  bool upper = true;
  bool transpose = false;
  bool unitriangular = false;
};

void DefineTriangularSolve(OpDef& op) {
  op.Comment(
        "op(X) Out = Y for triangular X, op transposing where transpose. Only that triangle of X "
        "is read. A 0 on its diagonal raises.")
      .Example(
          ">>> x = to_variable([[2.0, 1.0], [0.0, 4.0]])\n"
          ">>> F.triangular_solve(x, to_variable([[4.0], [8.0]])).tolist()\n"
          "[[1.0], [2.0]]")
      .Input(kX, "X", "[..., n, n]")
      .Input(kY, "Y", "[..., n, k]; leading axes broadcast with X's")
      .Output(kOut, "Out", "[..., n, k]")
      .Attr(&TriangularSolveAttrs::upper, "upper", "X is upper triangular; false: lower")
      .Attr(&TriangularSolveAttrs::transpose, "transpose", "solve with X^T")
      .Attr(&TriangularSolveAttrs::unitriangular, "unitriangular",
            "the diagonal of X is taken to be 1 and not read")
      .Shape([](InferContext& ctx) {
        ctx.SetOutput(kOut, ResultOf(SystemOf(ctx.dims(kX), ctx.dims(kY), "X", "Y")));
      })
      // Giles (2008), 2.3.1: Y@GRAD = op(X)^-T Out@GRAD, op(X)@GRAD = -Y@GRAD Out^T, its triangle
      .Grad([](GradBuilder& g) {
        Formula f(g);
        const auto& a = g.attrs<TriangularSolveAttrs>();
        RecipeRef whole =
            f.Triangular(g.Input(kX), g.OutputGrad(kOut), a.upper, !a.transpose, a.unitriangular);
        f.Reduce(g.InputShape(kY), whole, g.InputGrad(kY));
        RecipeRef x = f.MinusOuter(g.InputShape(kX), g.Output(kOut), whole, a.transpose);
        const int beside = a.unitriangular ? (a.upper ? 1 : -1) : 0;
        g.Call("tril_triu", {x}, {g.InputGrad(kX)})
            .Attr("lower", !a.upper)
            .Attr("diagonal", beside);
      });
}

template <class T>
struct TriangularSolveKernel {
  static void Compute(KernelContext& ctx) {
    const matmul::Product p = SystemOf(ctx.In(kX).dims(), ctx.In(kY).dims(), "X", "Y");
    const auto& a = ctx.attrs<TriangularSolveAttrs>();
    const T *x = ctx.In(kX).data<T>(), *y = ctx.In(kY).data<T>();
    T* to = ctx.Out(kOut).mutable_data<T>();
    SolveTriangular(p, a.upper, a.transpose, a.unitriangular, x, y, to);
  }
};

REGISTER_OPERATOR(triangular_solve, DefineTriangularSolve);
REGISTER_KERNELS(triangular_solve, TriangularSolveKernel, float, double);

}  // namespace
}  // namespace dygraph::linalg

#include "operators/linalg/factor_loops.h"

namespace dygraph::linalg {
namespace {

constexpr int kX = 0, kY = 1, kOut = 0;

// One vector may stand for a matrix beside one matrix X. Beside a stack, NumPy and PyTorch read
// Y of one axis less in different ways, so that it is refused.
matmul::Product Describe(const Dims& x, const Dims& y) {
  if (y.rank() == 1 && x.rank() == 2) return SystemOf(x, {y[0], 1}, "X", "Y");
  bool open = false;
  if (y.rank() + 1 == x.rank()) {
    open = true;
    for (int i = 0; i < y.rank(); ++i) open &= y[i] == x[i];
  }
  ENFORCE(!open, InvalidArgument, "Y must have columns beside a stack X ", x, ", got shape ", y,
          ", which may be vectors or a matrix. unsqueeze(Y, [-1]) says vectors, unsqueeze(Y, [0]) "
          "a matrix");
  return SystemOf(x, y, "X", "Y");
}

void DefineSolve(OpDef& op) {
  op.Comment("X Out = Y, for each matrix X. One that is singular raises.")
      .Example(
          ">>> x = to_variable([[2.0, 0.0], [0.0, 4.0]])\n"
          ">>> F.solve(x, to_variable([[2.0], [8.0]])).tolist()\n"
          "[[1.0], [2.0]]")
      .Input(kX, "X", "[..., n, n]")
      .Input(kY, "Y", "[..., n, k]; leading axes broadcast with X's. [n] beside one matrix")
      .Output(kOut, "Out", "[..., n, k]; [n]")
      .Shape([](InferContext& ctx) {
        const Dims &x = ctx.dims(kX), &y = ctx.dims(kY);
        const matmul::Product p = Describe(x, y);
        ctx.SetOutput(kOut, y.rank() == 1 ? Dims{p.m < 0 ? p.k : p.m} : ResultOf(p));
      })
      // Giles (2008), 2.3.1: Y@GRAD = X^-T Out@GRAD, X@GRAD = -Y@GRAD Out^T
      .Grad([](GradBuilder& g) {
        Formula f(g);
        RecipeRef whole = g.Apply("solve", {f.T(g.Input(kX)), g.OutputGrad(kOut)});
        f.Reduce(g.InputShape(kY), whole, g.InputGrad(kY));
        g.Call("matmul_v2_grad", {g.InputShape(kX), g.Output(kOut), f.Minus(whole)},
               {g.InputGrad(kX), {}});
      });
}

template <class T>
struct SolveKernel {
  static void Compute(KernelContext& ctx) {
    const matmul::Product p = Describe(ctx.In(kX).dims(), ctx.In(kY).dims());
    const T *x = ctx.In(kX).data<T>(), *y = ctx.In(kY).data<T>();
    T* to = ctx.Out(kOut).mutable_data<T>();
    SolveSystems(p, x, y, to);
  }
};

REGISTER_OPERATOR(solve, DefineSolve);
REGISTER_KERNELS(solve, SolveKernel, float, double);

}  // namespace
}  // namespace dygraph::linalg

#include "operators/linalg/solving.h"

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
struct Memory {
  Memory(int64_t n, int64_t k) : pivots(n), a(n * n), b(k == 1 ? 0 : n * k) {}
  lapack::Integers pivots;
  lapack::Numbers<T> a, b;
  int64_t factored = -1;  // which matrix is in a
};

template <class T>
struct SolveKernel {
  static void Compute(KernelContext& ctx) {
    const matmul::Product p = Describe(ctx.In(kX).dims(), ctx.In(kY).dims());
    const T *x = ctx.In(kX).data<T>(), *y = ctx.In(kY).data<T>();
    T* to = ctx.Out(kOut).mutable_data<T>();
    const int64_t n = p.m, k = p.n;
    if (n == 0 || Numel(p.batch) == 0) return;
    std::vector<int64_t> infos(Numel(p.batch)), which(infos.size());
    ForEachSystem(
        p, [&] { return std::make_unique<Memory<T>>(n, k); },
        [&](int64_t i, int64_t xi, int64_t yi, Memory<T>& memory) {
          T* a = memory.a.data();
          which[i] = xi;
          if (memory.factored != xi) {  // a is X^T = P L U in columns
            std::memcpy(a, x + xi * n * n, n * n * sizeof(T));
            infos[i] = lapack::Getrf(n, n, a, memory.pivots);
            memory.factored = infos[i] == 0 ? xi : -1;
          }
          if (infos[i] != 0) return;
          T* out = to + i * n * k;
          if (k == 1) {
            std::memcpy(out, y + yi * n, n * sizeof(T));
            return lapack::Getrs('T', n, k, a, memory.pivots, out);
          }
          T* b = memory.b.data();
          TransposeInto(y + yi * n * k, n, k, b);
          lapack::Getrs('T', n, k, a, memory.pivots, b);
          TransposeInto(b, k, n, out);
        });
    const int64_t i = FirstOf(infos);
    if (i < 0) return;
    THROW(InvalidArgument, "X must be regular, but ", NameOf(MatricesOf(p), which[i]),
          " is singular: pivot ", infos[i] - 1, " is 0");
  }
};

REGISTER_OPERATOR(solve, DefineSolve);
REGISTER_CPU_KERNEL(solve, SolveKernel, float, double);

}  // namespace
}  // namespace dygraph::linalg

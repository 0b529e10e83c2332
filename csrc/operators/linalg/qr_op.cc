#include <cstring>

#include "operators/linalg/linalg.h"

namespace dygraph::linalg {
namespace {

constexpr int kX = 0, kQ = 0, kR = 1;

struct QrAttrs {
  std::string mode = "reduced";
};

// Walter and Lehmann, "Algorithmic differentiation of linear algebra functions" (2010): for m >= n,
// with M = R R@GRAD^T - Q@GRAD^T Q and copyltu(M) its lower triangle on both sides,
//   X@GRAD = (Q@GRAD + Q copyltu(M)) R^-T.
// A wide X is [A B] with R = [U V], Q U = A and V = Q^T B: then B@GRAD = Q V@GRAD, Q@GRAD gets
// B V@GRAD^T more, and the rest is A's. V@GRAD is 0 for other shapes.
void QrGrad(GradBuilder& g) {
  Formula f(g);
  if (g.attrs<QrAttrs>().mode != "reduced") {
    constexpr const char* kReason =
        "the gradient is made for mode='reduced' only. It gives the same Q and R unless X has more "
        "rows than columns";
    f.Give({f.Refuse(g.OutputGrad(kQ), kReason), f.Refuse(g.OutputGrad(kR), kReason)},
           g.InputGrad(kX));
    return;
  }
  RecipeRef x = g.Input(kX), q = g.Output(kQ), r = g.Output(kR), r_grad = g.OutputGrad(kR);
  RecipeRef square = f.SquareOfRows(r);
  RecipeRef u = f.Crop(r, square), u_grad = f.Crop(r_grad, square);
  RecipeRef v_grad = f.Sum({r_grad, f.Minus(f.Pad(u_grad, r))});
  RecipeRef q_grad = f.Sum({g.OutputGrad(kQ), f.MatMul(x, v_grad, false, true)});
  RecipeRef m = f.Sum({f.MatMul(u, u_grad, false, true), f.Minus(f.MatMul(q_grad, q, true))});
  RecipeRef copied = f.Sum({f.Lower(m), f.T(f.Lower(m, -1))});
  RecipeRef a_grad = f.TriangularRight(f.Sum({q_grad, f.MatMul(q, copied)}), u, true, true);
  f.Give({f.Pad(a_grad, g.InputShape(kX)), f.MatMul(q, v_grad)}, g.InputGrad(kX));
}

void DefineQr(OpDef& op) {
  op.Comment(
        "X = Q R: Q with orthonormal columns, R upper triangular. The sign of each row of R is "
        "free. mode 'r' makes R alone.")
      .Example(
          ">>> q, r = F.qr(to_variable([[0.0, 2.0], [3.0, 1.0]]))\n"
          ">>> np.allclose((q @ r).numpy(), [[0, 2], [3, 1]])\n"
          "True")
      .Input(kX, "X", "[..., m, n]")
      .Output(kQ, "Q", "[..., m, k], k = min(m, n), with mode 'complete' m; [0] with 'r'")
      .Output(kR, "R", "[..., k, n]")
      .Attr(&QrAttrs::mode, "mode", "'reduced', 'complete' or 'r'",
            OneOf({"reduced", "complete", "r"}))
      .Shape([](InferContext& ctx) {
        const Stack s = StackOf(ctx.dims(kX));
        const std::string& mode = ctx.attrs<QrAttrs>().mode;
        const int64_t k = mode == "complete" ? s.m : s.k();
        ctx.SetOutput(kQ, mode == "r" ? Dims{0} : s.With({s.m, k}));
        ctx.SetOutput(kR, s.With({k, s.n}));
      })
      .Grad(QrGrad);
}

template <class T>
struct Memory {
  Memory(int64_t a, int64_t tau, int64_t work) : a(a), tau(tau), work(work) {}
  lapack::Numbers<T> a, tau, work;
};

template <class T>
struct QrKernel {
  static void Compute(KernelContext& ctx) {
    const Stack s = StackOf(ctx.In(kX).dims());
    const std::string& mode = ctx.attrs<QrAttrs>().mode;
    const int64_t m = s.m, n = s.n, k = s.k(), columns = mode == "complete" ? m : k;
    const T* x = ctx.In(kX).data<T>();
    Tensor *q_out = mode == "r" ? nullptr : ctx.OutOrNull(kQ), *r_out = ctx.OutOrNull(kR);
    T* q = q_out ? q_out->mutable_data<T>() : nullptr;
    T* r = r_out ? r_out->mutable_data<T>() : nullptr;
    if (s.count == 0 || m == 0) return;
    if (k == 0) {
      for (int64_t i = 0; q && i < s.count * m * columns; ++i)
        q[i] = i / columns % m == i % columns;
      return;
    }
    const int64_t size = lapack::QrWork<T>(m, n, columns);
    ForEach(
        s.count, 4 * Cube(s),
        [&] { return std::make_unique<Memory<T>>(m * std::max(n, columns), k, size); },
        [&](int64_t i, Memory<T>& memory) {
          T* a = memory.a.data();
          TransposeInto(x + i * m * n, m, n, a);
          lapack::Geqrf(m, n, a, memory.tau.data(), memory.work.data(), size);
          for (int64_t row = 0; r && row < columns; ++row) {
            T* to = r + (i * columns + row) * n;
            for (int64_t c = 0; c < n; ++c) to[c] = c < row ? T(0) : a[c * m + row];
          }
          if (!q) return;
          lapack::Orgqr(m, columns, k, a, memory.tau.data(), memory.work.data(), size);
          TransposeInto(a, columns, m, q + i * m * columns);
        });
  }
};

REGISTER_OPERATOR(qr, DefineQr);
REGISTER_CPU_KERNEL(qr, QrKernel, float, double);

}  // namespace
}  // namespace dygraph::linalg

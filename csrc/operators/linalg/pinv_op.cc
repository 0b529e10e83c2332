#include <limits>

#include "kernels/matmul.h"
#include "operators/linalg/decompose.h"

namespace dygraph::linalg {
namespace {

constexpr int kX = 0, kOut = 0;

struct PinvAttrs {
  double rcond = -1.0;
};

void DefinePinv(OpDef& op) {
  op.Comment(
        "Out = the pseudo-inverse of X: V diag(1 / S) U^T of its singular value decomposition, "
        "where values of at most rcond times the greatest count as 0. The gradient takes the rank "
        "as fixed.")
      .Example(
          ">>> F.pinv(to_variable([[2.0, 0.0], [0.0, 0.0]])).tolist()\n"
          "[[0.5, 0.0], [0.0, 0.0]]")
      .Input(kX, "X", "[..., m, n]")
      .Output(kOut, "Out", "[..., n, m]")
      .Attr(&PinvAttrs::rcond, "rcond",
            "below it, relative to the greatest, values are 0; negative: the spacing of the type "
            "times max(m, n)")
      .Shape([](InferContext& ctx) {
        const Stack s = StackOf(ctx.dims(kX));
        ctx.SetOutput(kOut, s.With({s.n, s.m}));
      })
      // Golub and Pereyra, "The differentiation of pseudo-inverses" (1973), (4.12): with P = Out,
      // dP = -P dX P + P P^T dX^T (I - X P) + (I - P X) dX^T P^T P, so that with W = Out@GRAD
      // X@GRAD = -P^T W P^T + (I - X P) W^T P P^T + P^T P W^T (I - P X)
      .Grad([](GradBuilder& g) {
        Formula f(g);
        RecipeRef x = g.Input(kX), p = g.Output(kOut), w = g.OutputGrad(kOut);
        RecipeRef middle = f.MatMul(f.MatMul(p, w, true), p, false, true);
        RecipeRef right = f.MatMul(f.MatMul(w, p, true), p, false, true);
        RecipeRef left = f.MatMul(p, f.MatMul(p, w, false, true), true);
        f.Give({f.Minus(middle), right, f.Minus(f.MatMul(x, f.MatMul(p, right))), left,
                f.Minus(f.MatMul(f.MatMul(left, p), x))},
               g.InputGrad(kX));
      });
}

template <class T>
struct PinvKernel {
  static void Compute(KernelContext& ctx) {
    const Stack s = StackOf(ctx.In(kX).dims());
    const int64_t m = s.m, n = s.n, k = s.k();
    T* to = ctx.Out(kOut).mutable_data<T>();
    if (s.count * k == 0) return;
    double rcond = ctx.attrs<PinvAttrs>().rcond;
    if (rcond < 0) {
      rcond = static_cast<double>(std::numeric_limits<T>::epsilon()) *
              static_cast<double>(std::max(m, n));
    }
    lapack::Numbers<T> u_memory(s.count * m * k), s_memory(s.count * k), vh_memory(s.count * k * n);
    T *u = u_memory.data(), *values = s_memory.data(), *vh = vh_memory.data();
    DecomposeSingular<T>(ctx.In(kX), 'S', u, values, vh);
    ForEach(
        s.count, 2 * Cube(s), [] { return std::make_unique<char>(); },
        [&](int64_t i, char&) {
          const T* falling = values + i * k;
          T* rows = vh + i * k * n;
          const T cut = static_cast<T>(rcond) * falling[0];
          for (int64_t r = 0; r < k; ++r) {
            const T factor = falling[r] > cut ? T(1) / falling[r] : T(0);
            for (int64_t c = 0; c < n; ++c) rows[r * n + c] *= factor;
          }
          kernels::MatMul<T>(true, true, n, m, k, T(1), rows, n, u + i * m * k, k, T(0),
                             to + i * n * m, m);
        });
  }
};

REGISTER_OPERATOR(pinv, DefinePinv);
REGISTER_CPU_KERNEL(pinv, PinvKernel, float, double);

}  // namespace
}  // namespace dygraph::linalg

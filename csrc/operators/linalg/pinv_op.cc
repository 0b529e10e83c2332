#include <cstring>
#include <limits>

#include "kernels/matmul.h"
#include "operators/linalg/linalg.h"

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
struct Memory {
  Memory(int64_t m, int64_t n, int64_t k, int64_t size)
      : integers(8 * k), a(m * n), s(k), u(m * k), vh(k * n), work(size) {}
  lapack::Integers integers;
  lapack::Numbers<T> a, s, u, vh, work;
};

template <class T>
struct PinvKernel {
  static void Compute(KernelContext& ctx) {
    const Stack s = StackOf(ctx.In(kX).dims());
    const int64_t m = s.m, n = s.n, k = s.k();
    const T* x = ctx.In(kX).data<T>();
    T* to = ctx.Out(kOut).mutable_data<T>();
    if (s.count * k == 0) return;
    double rcond = ctx.attrs<PinvAttrs>().rcond;
    if (rcond < 0) {
      rcond = static_cast<double>(std::numeric_limits<T>::epsilon()) *
              static_cast<double>(std::max(m, n));
    }
    EnforceFinite(s, x, "X");
    T ask = 0;
    lapack::Integers none(8 * k);
    lapack::Gesdd<T>('S', n, m, nullptr, nullptr, nullptr, nullptr, &ask, -1, none);
    const auto size = static_cast<int64_t>(ask);
    std::vector<int64_t> infos(s.count);
    ForEach(
        s.count, 14 * Cube(s), [&] { return std::make_unique<Memory<T>>(m, n, k, size); },
        [&](int64_t i, Memory<T>& memory) {
          T *values = memory.s.data(), *vh = memory.vh.data();
          std::memcpy(memory.a.data(), x + i * m * n, m * n * sizeof(T));
          infos[i] = lapack::Gesdd('S', n, m, memory.a.data(), values, vh, memory.u.data(),
                                   memory.work.data(), size, memory.integers);
          if (infos[i] != 0) return;
          const T cut = static_cast<T>(rcond) * values[0];
          for (int64_t r = 0; r < k; ++r) {
            const T factor = values[r] > cut ? T(1) / values[r] : T(0);
            for (int64_t c = 0; c < n; ++c) vh[r * n + c] *= factor;
          }
          kernels::MatMul<T>(true, true, n, m, k, T(1), vh, n, memory.u.data(), k, T(0),
                             to + i * n * m, m);
        });
    const int64_t i = FirstOf(infos);
    if (i >= 0) {
      THROW(InvalidArgument, "the singular values of X did not converge in ", NameOf(s, i));
    }
  }
};

REGISTER_OPERATOR(pinv, DefinePinv);
REGISTER_CPU_KERNEL(pinv, PinvKernel, float, double);

}  // namespace
}  // namespace dygraph::linalg

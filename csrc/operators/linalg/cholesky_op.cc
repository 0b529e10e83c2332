#include <cstring>

#include "operators/linalg/linalg.h"

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
    const int64_t n = s.n;
    if (s.count * n == 0) return;
    std::vector<int64_t> infos(s.count);
    ForEach(
        s.count, Cube(s) / 6, [] { return std::make_unique<char>(); },
        [&](int64_t i, char&) {
          T* a = to + i * n * n;
          for (int64_t r = 0; r < n; ++r) {
            const int64_t first = upper ? r : 0, last = upper ? n : r + 1;
            std::fill_n(a + r * n, first, T(0));
            std::copy_n(x + (i * n + r) * n + first, last - first, a + r * n + first);
            std::fill_n(a + r * n + last, n - last, T(0));
          }
          infos[i] = lapack::Potrf(upper ? 'L' : 'U', n, a);  // the transpose of the triangle
          for (int64_t r = 0; infos[i] == 0 && r < n; ++r) {
            if (!(a[r * n + r] > 0)) infos[i] = r + 1;  // NaN, which LAPACK may pass
          }
        });
    const int64_t i = FirstOf(infos);
    if (i >= 0) {
      THROW(InvalidArgument, "X must be positive definite, but ", NameOf(s, i),
            " is not: its leading minor of order ", infos[i], " is not positive");
    }
  }
};

REGISTER_OPERATOR(cholesky, DefineCholesky);
REGISTER_CPU_KERNEL(cholesky, CholeskyKernel, float, double);

}  // namespace
}  // namespace dygraph::linalg

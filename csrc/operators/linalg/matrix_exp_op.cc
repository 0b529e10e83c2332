#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/matmul.h"
#include "operators/linalg/linalg.h"

namespace dygraph::linalg {
namespace {

constexpr int kX = 0, kOut = 0;

void DefineMatrixExp(OpDef& op) {
  op.Comment("Out = I + X + X^2 / 2! + ..., the exponential of each matrix.")
      .Example(
          ">>> F.matrix_exp(to_variable([[0.0, 1.0], [0.0, 0.0]])).tolist()\n"
          "[[1.0, 1.0], [0.0, 1.0]]")
      .Input(kX, "X", "[..., n, n]")
      .Output(kOut, "Out", "shape of X")
      .Shape([](InferContext& ctx) {
        const Stack s = SquareOf(ctx.dims(kX));
        ctx.SetOutput(kOut, s.With({s.n, s.n}));
      })
      // Najfeld and Havel, "Derivatives of the matrix exponential" (1995): the exponential of
      // [X^T Out@GRAD; 0 X^T] has X@GRAD as its upper right part
      .Grad([](GradBuilder& g) {
        Formula f(g);
        RecipeRef x = f.T(g.Input(kX)), given = g.OutputGrad(kOut);
        auto join = [&](RecipeRef a, RecipeRef b, int axis) {
          RecipeRef to = g.Temp();
          g.Call("concat", {RecipeSlot({a, b})}, {to}).Attr("axis", axis);
          return to;
        };
        auto half = [&](RecipeRef from, int which, int axis, RecipeRef to) {
          RecipeSlot parts({which == 0 ? to : g.Temp(), which == 1 ? to : g.Temp()});
          g.Call("split", {from}, {parts}).Attr("num", 2).Attr("axis", axis);
          return to;
        };
        RecipeRef zero = g.ApplyScale(given, 0.0);
        RecipeRef block = join(join(x, given, -1), join(zero, x, -1), -2);
        RecipeRef whole = g.Apply("matrix_exp", {block});
        half(half(whole, 0, -2, g.Temp()), 1, -1, g.InputGrad(kX));
      });
}

// Higham, "The scaling and squaring method for the matrix exponential revisited" (2005): the
// Pade approximant of degree 13 of X / 2^s, squared s times.
constexpr double kPade[] = {64764752532480000.0,
                            32382376266240000.0,
                            7771770303897600.0,
                            1187353796428800.0,
                            129060195264000.0,
                            10559470521600.0,
                            670442572800.0,
                            33522128640.0,
                            1323241920.0,
                            40840800.0,
                            960960.0,
                            16380.0,
                            182.0,
                            1.0};
constexpr double kTheta = 5.371920351148152;

template <class T>
class Exponential {
 public:
  explicit Exponential(int64_t n)
      : n_(n),
        size_(n * n),
        pivots_(n),
        x_(size_),
        x2_(size_),
        x4_(size_),
        x6_(size_),
        u_(size_),
        v_(size_),
        w_(size_) {}

  void Run(const T* from, T* to) {
    double norm = 0;  // the greatest sum of a row
    for (int64_t r = 0; r < n_; ++r) {
      double sum = 0;
      for (int64_t c = 0; c < n_; ++c) sum += std::abs(static_cast<double>(from[r * n_ + c]));
      norm = sum > norm || std::isnan(sum) ? sum : norm;
    }
    if (!std::isfinite(norm)) {
      std::fill_n(to, size_, std::numeric_limits<T>::quiet_NaN());
      return;
    }
    int squarings = 0;
    if (norm > kTheta) std::frexp(norm / kTheta, &squarings);
    T *x = x_.data(), *x2 = x2_.data(), *x4 = x4_.data(), *x6 = x6_.data(), *u = u_.data(),
      *v = v_.data(), *w = w_.data();
    for (int64_t i = 0; i < size_; ++i) x[i] = std::ldexp(from[i], -squarings);
    Multiply(x, x, x2);
    Multiply(x2, x2, x4);
    Multiply(x2, x4, x6);
    // U = X (X6 (b13 X6 + b11 X4 + b9 X2) + b7 X6 + b5 X4 + b3 X2 + b1 I), V the same without X
    Side(1, w, v);
    Multiply(x, v, u);
    Side(0, w, v);
    for (int64_t i = 0; i < size_; ++i) {  // (V - U) Out = V + U
      const T a = v[i], b = u[i];
      v[i] = a - b;
      u[i] = a + b;
    }
    // row-major rows are columns of the transpose: (V - U)^T and (V + U)^T commute
    lapack::Getrf(n_, n_, v, pivots_);
    lapack::Getrs('N', n_, n_, v, pivots_, u);
    for (; squarings > 0; --squarings) {
      Multiply(u, u, w);
      std::swap(u, w);
    }
    std::memcpy(to, u, size_ * sizeof(T));
  }

 private:
  void Multiply(const T* a, const T* b, T* to) {
    kernels::MatMul<T>(false, false, n_, n_, n_, T(1), a, n_, b, n_, T(0), to, n_);
  }
  // v = X6 (b12 X6 + b10 X4 + b8 X2) + b6 X6 + b4 X4 + b2 X2 + b0 I, with `odd` one index more
  void Side(int odd, T* w, T* v) {
    const T *x2 = x2_.data(), *x4 = x4_.data(), *x6 = x6_.data();
    auto b = [&](int i) { return static_cast<T>(kPade[i + odd] / kPade[0]); };
    for (int64_t i = 0; i < size_; ++i) w[i] = b(12) * x6[i] + b(10) * x4[i] + b(8) * x2[i];
    Multiply(x6, w, v);
    for (int64_t i = 0; i < size_; ++i) v[i] += b(6) * x6[i] + b(4) * x4[i] + b(2) * x2[i];
    for (int64_t r = 0; r < n_; ++r) v[r * (n_ + 1)] += b(0);
  }

  const int64_t n_, size_;
  lapack::Integers pivots_;
  lapack::Numbers<T> x_, x2_, x4_, x6_, u_, v_, w_;
};

template <class T>
struct MatrixExpKernel {
  static void Compute(KernelContext& ctx) {
    const Stack s = SquareOf(ctx.In(kX).dims());
    const T* x = ctx.In(kX).data<T>();
    T* to = ctx.Out(kOut).mutable_data<T>();
    const int64_t size = s.n * s.n;
    if (s.count * size == 0) return;
    ForEach(
        s.count, 10 * Cube(s), [&] { return std::make_unique<Exponential<T>>(s.n); },
        [&](int64_t i, Exponential<T>& one) { one.Run(x + i * size, to + i * size); });
  }
};

REGISTER_OPERATOR(matrix_exp, DefineMatrixExp);
REGISTER_CPU_KERNEL(matrix_exp, MatrixExpKernel, float, double);

}  // namespace
}  // namespace dygraph::linalg

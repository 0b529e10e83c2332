// eig and eigvals: of any square matrices, so that results are complex.
#include <cstring>

#include "operators/linalg/linalg.h"

namespace dygraph::linalg {
namespace {

constexpr int kX = 0, kValues = 0, kVectors = 1;

// Products of complex matrices and real X@GRAD, by real and imaginary parts.
struct ComplexFormula : Formula {
  using Formula::Formula;
  struct Parts {
    RecipeRef re, im;
  };
  Parts PartsOf(RecipeRef x) { return {g.Apply("real", {x}), g.Apply("imag", {x})}; }
  RecipeRef Difference(RecipeRef x, RecipeRef y) { return g.Apply("elementwise_sub", {x, y}); }
  RecipeRef Joined(RecipeRef x, RecipeRef y, int axis) {
    RecipeRef to = g.Temp();
    g.Call("concat", {RecipeSlot({x, y})}, {to}).Attr("axis", axis);
    return to;
  }
  RecipeRef Complex(RecipeRef re, RecipeRef im) { return g.Apply("complex", {re, im}); }
  // v^H x
  RecipeRef AdjointTimes(Parts v, Parts x) {
    return Complex(Sum({MatMul(v.re, x.re, true), MatMul(v.im, x.im, true)}),
                   Difference(MatMul(v.re, x.im, true), MatMul(v.im, x.re, true)));
  }
  // x v^H
  Parts TimesAdjoint(Parts x, Parts v) {
    return {Sum({MatMul(x.re, v.re, false, true), MatMul(x.im, v.im, false, true)}),
            Difference(MatMul(x.im, v.re, false, true), MatMul(x.re, v.im, false, true))};
  }
  // The real part of v^-H x v^H. A complex system is a real one of twice the size.
  RecipeRef Given(RecipeRef v, RecipeRef x) {
    const Parts parts = PartsOf(v), right = TimesAdjoint(PartsOf(x), parts);
    RecipeRef block =
        Joined(Joined(parts.re, Minus(parts.im), -1), Joined(parts.im, parts.re, -1), -2);
    RecipeRef both = g.Apply("solve", {T(block), Joined(right.re, right.im, -2)});
    RecipeRef re = g.Temp(), im = g.Temp();
    g.Call("split", {both}, {RecipeSlot({re, im})}).Attr("axis", -2).Attr("num", 2);
    return re;
  }
  // A real row [..., 1, n] of complex type: the real diagonal of x.
  RecipeRef RealDiagonal(RecipeRef x) {
    RecipeRef real = g.Apply("real", {x}), row = g.Temp();
    g.Call("reduce_sum", {Mul(real, IdentityLike(real))}, {row})
        .Attr("dim", std::vector<int32_t>{-2})
        .Attr("keep_dim", true);
    return g.Apply("real_grad", {row});
  }
};

// Boeddeker et al. (2017), 4.2: X@GRAD = V^-H (diag(g) + (V^H G - V^H V diag(Re V^H G)) / E*) V^H
// with g and G the gradients of the values and vectors, E_ij = w_j - w_i, and a diagonal of 0 in
// the second term.
void EigGrad(GradBuilder& g) {
  ComplexFormula f(g);
  RecipeRef w = g.Output(kValues), v = g.Output(kVectors);
  const ComplexFormula::Parts parts = f.PartsOf(v);
  RecipeRef in_v = f.AdjointTimes(parts, f.PartsOf(g.OutputGrad(kVectors)));
  RecipeRef along = f.Mul(f.AdjointTimes(parts, parts), f.RealDiagonal(in_v));
  RecipeRef free = f.Difference(in_v, along);
  RecipeRef apart = g.Apply("elementwise_sub", {f.AsRow(w), f.AsColumn(w)});
  RecipeRef e = g.Apply("conj", {f.Sum({apart, f.IdentityLike(v)})});
  RecipeRef beside = f.Div(f.Sum({f.Lower(free, -1), f.Upper(free, 1)}), e);
  RecipeRef values = f.Mul(f.IdentityLike(v), f.AsRow(g.OutputGrad(kValues)));
  f.Give({f.Given(v, f.Sum({beside, values}))}, g.InputGrad(kX));
}

void DefineEig(OpDef& op) {
  op.Comment(
        "X V = V diag(w): the eigenvalues w and eigenvectors of any square matrices, the columns "
        "of V, of length 1, each up to a factor of absolute value 1. The order is LAPACK's. NaN "
        "and infinity raise. Gradients are right for results that do not depend on those factors; "
        "where eigenvalues are equal, those of V are infinite or NaN.")
      .Example(
          ">>> w, v = F.eig(to_variable([[0.0, -1.0], [1.0, 0.0]]))\n"
          ">>> w.tolist()\n"
          "[1j, -1j]")
      .Input(kX, "X", "[..., n, n]")
      .Output(kValues, "Eigenvalues", "[..., n]; complex64 of float32, complex128 of float64")
      .Output(kVectors, "Eigenvectors", "[..., n, n], of that type")
      .Shape([](InferContext& ctx) {
        const Stack s = SquareOf(ctx.dims(kX));
        ctx.SetOutput(kValues, s.With({s.n}), ComplexOf(ctx.dtype(kX)));
        ctx.SetOutput(kVectors, s.With({s.n, s.n}), ComplexOf(ctx.dtype(kX)));
      })
      .Grad(EigGrad);
}

void DefineEigvals(OpDef& op) {
  op.Comment("The eigenvalues of any square matrices: those of eig, without the vectors.")
      .Example(">>> F.eigvals(to_variable([[0.0, -1.0], [1.0, 0.0]])).tolist()\n[1j, -1j]")
      .Input(kX, "X", "[..., n, n]")
      .Output(kValues, "Out", "[..., n]; complex64 of float32, complex128 of float64")
      .Shape([](InferContext& ctx) {
        const Stack s = SquareOf(ctx.dims(kX));
        ctx.SetOutput(kValues, s.With({s.n}), ComplexOf(ctx.dtype(kX)));
      })
      .Grad([](GradBuilder& g) {  // eig makes the vectors when they are needed
        ComplexFormula f(g);
        RecipeRef w = g.Temp(), v = g.Temp();
        g.Call("eig", {g.Input(kX)}, {w, v});
        // reads w too, which the derivative of this eig needs to be made
        RecipeRef given = g.Apply("elementwise_add", {g.OutputGrad(kValues), g.ApplyScale(w, 0.0)});
        RecipeRef values = f.Mul(f.IdentityLike(v), f.AsRow(given));
        f.Give({f.Given(v, values)}, g.InputGrad(kX));
      });
}

// v may be nullptr.
template <class T>
void Decompose(const Tensor& x, std::complex<T>* w, std::complex<T>* v) {
  const Stack s = SquareOf(x.dims());
  const int64_t n = s.n;
  if (s.count * n == 0) return;
  EnforceFinite(s, x.data<T>(), "X");
  struct Memory {
    Memory(int64_t n, int64_t size) : a(n * n), v(n * n), re(n), im(n), work(size) {}
    lapack::Numbers<T> a, v, re, im, work;
  };
  const char job = v ? 'V' : 'N';
  T ask = 0;
  lapack::Geev<T>(job, n, nullptr, nullptr, nullptr, nullptr, &ask, -1);
  const auto size = lapack::SizeOf(ask);
  std::vector<int64_t> infos(s.count);
  ForEach(
      s.count, (v ? 25 : 10) * Cube(s), [&] { return std::make_unique<Memory>(n, size); },
      [&](int64_t i, Memory& memory) {
        T *re = memory.re.data(), *im = memory.im.data(), *columns = memory.v.data();
        TransposeInto(x.data<T>() + i * n * n, n, n, memory.a.data());
        infos[i] = lapack::Geev(job, n, memory.a.data(), re, im, columns, memory.work.data(), size);
        for (int64_t k = 0; k < n; ++k) w[i * n + k] = {re[k], im[k]};
        if (!v) return;
        std::complex<T>* to = v + i * n * n;
        for (int64_t k = 0; k < n; ++k) {
          const bool paired = im[k] != 0 && k + 1 < n;
          for (int64_t r = 0; r < n; ++r) {
            const T real = columns[k * n + r], imag = paired ? columns[(k + 1) * n + r] : T(0);
            to[r * n + k] = {real, imag};
            if (paired) to[r * n + k + 1] = {real, -imag};
          }
          k += paired ? 1 : 0;
        }
      });
  const int64_t i = FirstOf(infos);
  if (i >= 0) THROW(InvalidArgument, "the eigenvalues of X did not converge in ", NameOf(s, i));
}

template <class T>
struct EigKernel {
  static void Compute(KernelContext& ctx) {
    using C = std::complex<T>;
    Tensor *values = ctx.OutOrNull(kValues), *vectors = ctx.OutOrNull(kVectors);
    Tensor own;
    if (!values) {
      own.Allocate(StackOf(ctx.In(kX).dims()).With({ctx.In(kX).dims().back()}), DTypeOf<C>::value,
                   ctx.place());
      values = &own;
    }
    Decompose<T>(ctx.In(kX), values->mutable_data<C>(),
                 vectors ? vectors->mutable_data<C>() : nullptr);
  }
};

template <class T>
struct EigvalsKernel {
  static void Compute(KernelContext& ctx) {
    using C = std::complex<T>;
    Decompose<T>(ctx.In(kX), ctx.Out(kValues).mutable_data<C>(), nullptr);
  }
};

REGISTER_OPERATOR(eig, DefineEig);
REGISTER_CPU_KERNEL(eig, EigKernel, float, double);
REGISTER_OPERATOR(eigvals, DefineEigvals);
REGISTER_CPU_KERNEL(eigvals, EigvalsKernel, float, double);

}  // namespace
}  // namespace dygraph::linalg

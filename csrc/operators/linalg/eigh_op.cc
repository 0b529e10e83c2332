#include "operators/linalg/decompose.h"

// eigh and eigvalsh.
namespace dygraph::linalg {
namespace {

constexpr int kX = 0, kEigenvalues = 0, kEigenvectors = 1;

struct EighAttrs {
  std::string UPLO = "L";
};
struct EigvalshAttrs {
  std::string uplo = "L";
  bool is_test = false;
};

// V diag(values) V^T
RecipeRef OfValues(Formula& f, RecipeRef v, RecipeRef values) {
  return f.MatMul(f.Mul(v, f.AsRow(values)), v, false, true);
}

// Giles (2008), 3.1: X@GRAD = V (diag(Eigenvalues@GRAD) + (V^T V@GRAD) / E) V^T with
// E_ij = w_j - w_i, the diagonal of the second term being 0.
void EighGrad(GradBuilder& g) {
  Formula f(g);
  RecipeRef w = g.Output(kEigenvalues), v = g.Output(kEigenvectors);
  RecipeRef in_v = f.MatMul(v, g.OutputGrad(kEigenvectors), true);
  RecipeRef apart = g.Apply("elementwise_sub", {f.AsRow(w), f.AsColumn(w)});
  RecipeRef e = f.Sum({apart, f.IdentityLike(in_v)});
  RecipeRef beside = f.Div(f.Sum({f.Lower(in_v, -1), f.Upper(in_v, 1)}), e);
  RecipeRef of_vectors = f.MatMul(f.MatMul(v, beside), v, false, true);
  f.Give({of_vectors, OfValues(f, v, g.OutputGrad(kEigenvalues))}, g.InputGrad(kX));
}

void DefineEigh(OpDef& op) {
  op.Comment(
        "X = V diag(w) V^T of symmetric matrices: the eigenvalues w, rising, and eigenvectors as "
        "columns of V, each up to a sign. Only one triangle of X is read. NaN and infinity in it "
        "raise. Where eigenvalues are equal, the gradient of V is infinite or NaN.")
      .Example(
          ">>> w, v = F.eigh(to_variable([[2.0, 0.0], [0.0, 1.0]]))\n"
          ">>> w.tolist()\n"
          "[1.0, 2.0]")
      .Input(kX, "X", "[..., n, n]")
      .Output(kEigenvalues, "Eigenvalues", "[..., n]")
      .Output(kEigenvectors, "Eigenvectors", "[..., n, n]")
      .Attr(&EighAttrs::UPLO, "UPLO", "the triangle that is read: 'L' or 'U'", OneOf({"L", "U"}))
      .Shape([](InferContext& ctx) {
        const Stack s = SquareOf(ctx.dims(kX));
        ctx.SetOutput(kEigenvalues, s.With({s.n}));
        ctx.SetOutput(kEigenvectors, s.With({s.n, s.n}));
      })
      .Grad(EighGrad);
}

void DefineEigvalsh(OpDef& op) {
  op.Comment("The eigenvalues of symmetric matrices, rising: those of eigh, without the vectors.")
      .Example(">>> F.eigvalsh(to_variable([[2.0, 0.0], [0.0, 1.0]])).tolist()\n[1.0, 2.0]")
      .Input(kX, "X", "[..., n, n]")
      .Output(kEigenvalues, "Eigenvalues", "[..., n]")
      .Output(kEigenvectors, "Eigenvectors", "for programs of other tools: the vectors",
              kIntermediate | kExtra)
      .Attr(&EigvalshAttrs::uplo, "UPLO", "the triangle that is read: 'L' or 'U'",
            OneOf({"L", "U"}))
      .Attr(&EigvalshAttrs::is_test, "is_test", "no gradient will be asked for; nothing changes")
      .Shape([](InferContext& ctx) {
        const Stack s = SquareOf(ctx.dims(kX));
        ctx.SetOutput(kEigenvalues, s.With({s.n}));
        ctx.SetOutput(kEigenvectors, s.With({s.n, s.n}));
      })
      .Grad([](GradBuilder& g) {  // eigh makes the vectors when they are needed
        Formula f(g);
        RecipeRef w = g.Temp(), v = g.Temp();
        g.Call("eigh", {g.Input(kX)}, {w, v}).Attr("UPLO", g.attrs<EigvalshAttrs>().uplo);
        // reads w too, which the derivative of this eigh needs to be made
        RecipeRef given =
            g.Apply("elementwise_add", {g.OutputGrad(kEigenvalues), g.ApplyScale(w, 0.0)});
        f.Give({OfValues(f, v, given)}, g.InputGrad(kX));
      });
}

template <class T>
T* DataOf(Tensor* tensor) {
  return tensor ? tensor->mutable_data<T>() : nullptr;
}

template <class T>
struct EighKernel {
  static void Compute(KernelContext& ctx) {
    DecomposeSymmetric<T>(ctx.In(kX), ctx.attrs<EighAttrs>().UPLO == "L",
                          DataOf<T>(ctx.OutOrNull(kEigenvalues)),
                          DataOf<T>(ctx.OutOrNull(kEigenvectors)));
  }
};

template <class T>
struct EigvalshKernel {
  static void Compute(KernelContext& ctx) {
    DecomposeSymmetric<T>(ctx.In(kX), ctx.attrs<EigvalshAttrs>().uplo == "L",
                          DataOf<T>(ctx.OutOrNull(kEigenvalues)),
                          DataOf<T>(ctx.OutOrNull(kEigenvectors)));
  }
};

REGISTER_OPERATOR(eigh, DefineEigh);
REGISTER_CPU_KERNEL(eigh, EighKernel, float, double);
REGISTER_OPERATOR(eigvalsh, DefineEigvalsh);
REGISTER_CPU_KERNEL(eigvalsh, EigvalshKernel, float, double);

}  // namespace
}  // namespace dygraph::linalg

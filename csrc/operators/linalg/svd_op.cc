#include "operators/linalg/decompose.h"

// svd and svdvals.
namespace dygraph::linalg {
namespace {

constexpr int kX = 0, kU = 0, kS = 1, kVH = 2;

struct SvdAttrs {
  bool full_matrices = false;
};

// U diag(S@GRAD) VH
RecipeRef OfValues(Formula& f, RecipeRef u, RecipeRef s_grad, RecipeRef vh) {
  return f.MatMul(f.Mul(u, f.AsRow(s_grad)), vh);
}

// Of an svd that a recipe makes: reads `s` too, which the derivative of that svd needs to be made.
RecipeRef OfValuesAnew(Formula& f, RecipeRef x, RecipeRef s_grad) {
  RecipeRef u = f.g.Temp(), s = f.g.Temp(), vh = f.g.Temp();
  f.g.Call("svd", {x}, {u, s, vh});
  RecipeRef given = f.g.Apply("elementwise_add", {s_grad, f.g.ApplyScale(s, 0.0)});
  return OfValues(f, u, given, vh);
}

// Townsend, "Differentiating the singular value decomposition" (2016). With skew(M) = M - M^T and
// E_ij = S_j^2 - S_i^2:
//   X@GRAD = U (skew(U^T U@GRAD) / E S + S skew(V^T V@GRAD) / E + S@GRAD) V^T
//          + (I - U U^T) U@GRAD S^-1 V^T + U S^-1 V@GRAD^T (I - V V^T)
// where the last two terms exist for tall and wide matrices. Equal singular values make the first
// two infinite or NaN, as in PyTorch, unless only S is used.
void SvdGrad(GradBuilder& g) {
  Formula f(g);
  if (g.attrs<SvdAttrs>().full_matrices) {
    constexpr const char* kReason =
        "gradients of U and VH are made for full_matrices=False only: the other vectors are not "
        "determined by X";
    f.Give({OfValuesAnew(f, g.Input(kX), g.OutputGrad(kS)), f.Refuse(g.OutputGrad(kU), kReason),
            f.Refuse(g.OutputGrad(kVH), kReason)},
           g.InputGrad(kX));
    return;
  }
  RecipeRef u = g.Output(kU), s = g.Output(kS), vh = g.Output(kVH);
  RecipeRef u_grad = g.OutputGrad(kU), vh_grad = g.OutputGrad(kVH);
  RecipeRef in_u = f.MatMul(u, u_grad, true), in_v = f.MatMul(vh, vh_grad, false, true);
  RecipeRef squares = f.Mul(s, s);
  RecipeRef apart = g.Apply("elementwise_sub", {f.AsRow(squares), f.AsColumn(squares)});
  RecipeRef e = f.Sum({apart, f.IdentityLike(f.Sum({in_u, in_v}))});
  RecipeRef of_u = f.Mul(f.Div(f.Sum({in_u, f.Minus(f.T(in_u))}), e), f.AsRow(s));
  RecipeRef of_v = f.Mul(f.Div(f.Sum({in_v, f.Minus(f.T(in_v))}), e), f.AsColumn(s));
  RecipeRef within = f.MatMul(f.MatMul(u, f.Sum({of_u, of_v})), vh);
  // what lies outside: 0 / 1 for square matrices, whose S may be 0
  auto outside = [&](RecipeRef part, RecipeRef matrix) {
    RecipeRef tall = g.Apply("matrix_is_tall", {matrix});
    RecipeRef short_of_one = g.Temp();
    g.Call("scale", {tall}, {short_of_one}).Attr("scale", -1.0).Attr("bias", 1.0);
    RecipeRef divisor = g.Apply("elementwise_add", {f.Mul(s, tall), short_of_one});
    return f.Div(f.Mul(part, tall), f.AsRow(divisor));
  };
  RecipeRef beside_u = f.Sum({u_grad, f.Minus(f.MatMul(u, in_u))});
  RecipeRef tall = f.MatMul(outside(beside_u, u), vh);
  RecipeRef v_grad = f.T(vh_grad);
  RecipeRef beside_v = f.Sum({v_grad, f.Minus(f.MatMul(vh, in_v, true))});
  RecipeRef wide = f.MatMul(u, outside(beside_v, f.T(vh)), false, true);
  f.Give({within, tall, wide, OfValues(f, u, g.OutputGrad(kS), vh)}, g.InputGrad(kX));
}

void DefineSvd(OpDef& op) {
  op.Comment(
        "X = U diag(S) VH: U and VH^T with orthonormal columns, S falling. A sign is free for each "
        "pair of vectors. NaN and infinity in X raise. Where singular values are equal, gradients "
        "of U and VH are infinite or NaN.")
      .Example(
          ">>> u, s, vh = F.svd(to_variable([[0.0, 2.0], [3.0, 0.0]]))\n"
          ">>> s.tolist()\n"
          "[3.0, 2.0]")
      .Input(kX, "X", "[..., m, n]")
      .Output(kU, "U", "[..., m, k], k = min(m, n); [..., m, m] with full_matrices")
      .Output(kS, "S", "[..., k]")
      .Output(kVH, "VH", "[..., k, n]; [..., n, n] with full_matrices")
      .Attr(&SvdAttrs::full_matrices, "full_matrices", "complete U and VH to square matrices")
      .Shape([](InferContext& ctx) {
        const Stack x = StackOf(ctx.dims(kX));
        const bool full = ctx.attrs<SvdAttrs>().full_matrices;
        ctx.SetOutput(kU, x.With({x.m, full ? x.m : x.k()}));
        ctx.SetOutput(kS, x.With({x.k()}));
        ctx.SetOutput(kVH, x.With({full ? x.n : x.k(), x.n}));
      })
      .Grad(SvdGrad);
}

void DefineSvdvals(OpDef& op) {
  op.Comment("Out = the singular values of X, falling: S of svd, without the vectors.")
      .Example(">>> F.svdvals(to_variable([[0.0, 2.0], [3.0, 0.0]])).tolist()\n[3.0, 2.0]")
      .Input(kX, "X", "[..., m, n]")
      .Output(0, "Out", "[..., min(m, n)]")
      .Shape([](InferContext& ctx) {
        const Stack x = StackOf(ctx.dims(kX));
        ctx.SetOutput(0, x.With({x.k()}));
      })
      .Grad([](GradBuilder& g) {  // svd makes the vectors when they are needed
        Formula f(g);
        f.Give({OfValuesAnew(f, g.Input(kX), g.OutputGrad(0))}, g.InputGrad(kX));
      });
}

template <class T>
struct SvdKernel {
  static void Compute(KernelContext& ctx) {
    const char job = ctx.attrs<SvdAttrs>().full_matrices ? 'A' : 'S';
    Tensor *u = ctx.OutOrNull(kU), *s = ctx.OutOrNull(kS), *vh = ctx.OutOrNull(kVH);
    if (!u || !s || !vh) return Some(ctx.In(kX), job, u, s, vh);
    DecomposeSingular<T>(ctx.In(kX), job, u->mutable_data<T>(), s->mutable_data<T>(),
                         vh->mutable_data<T>());
  }

 private:
  // LAPACK makes all, into memory of our own where an output is left out.
  static void Some(const Tensor& x, char job, Tensor* u, Tensor* s, Tensor* vh) {
    const Stack stack = StackOf(x.dims());
    const bool full = job == 'A';
    const int64_t k = stack.k();
    lapack::Numbers<T> own_u(u ? 0 : stack.count * stack.m * (full ? stack.m : k)),
        own_s(s ? 0 : stack.count * k),
        own_vh(vh ? 0 : stack.count * stack.n * (full ? stack.n : k));
    DecomposeSingular<T>(x, job, u ? u->mutable_data<T>() : own_u.data(),
                         s ? s->mutable_data<T>() : own_s.data(),
                         vh ? vh->mutable_data<T>() : own_vh.data());
  }
};

template <class T>
struct SvdvalsKernel {
  static void Compute(KernelContext& ctx) {
    DecomposeSingular<T>(ctx.In(kX), 'N', nullptr, ctx.Out(0).mutable_data<T>(), nullptr);
  }
};

REGISTER_OPERATOR(svd, DefineSvd);
REGISTER_CPU_KERNEL(svd, SvdKernel, float, double);
REGISTER_OPERATOR(svdvals, DefineSvdvals);
REGISTER_CPU_KERNEL(svdvals, SvdvalsKernel, float, double);

}  // namespace
}  // namespace dygraph::linalg

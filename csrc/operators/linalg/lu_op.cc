#include "operators/linalg/linalg.h"

// lu and lu_unpack.
namespace dygraph::linalg {
namespace {

struct LuAttrs {
  bool pivots = true;
};
struct LuUnpackAttrs {
  bool unpack_ludata = true;
  bool unpack_pivots = true;
};

namespace factor {
constexpr int kX = 0, kOut = 0, kPivots = 1, kInfos = 2;

// With L = [L1; L2] and U = [U1 U2], L1 and U1 square, of which L2 or U2 is empty:
//   C = tril(L1^T L1@GRAD - U2@GRAD U2^T, -1) + triu(U1@GRAD U1^T - L2^T L2@GRAD)
//   (P^T X)@GRAD = [L1^-T C U1^-T, L1^-T U2@GRAD; L2@GRAD U1^-T, 0]
// which follows from Giles (2008) for A = L1 U1 by L2 = A2 U1^-1 and U2 = L1^-1 A2. The gradients
// of L2 and U2 are 0 elsewhere.
void LuGrad(GradBuilder& g) {
  Formula f(g);
  RecipeRef p = g.Temp(), l = g.Temp(), u = g.Temp();
  g.Call("lu_unpack", {g.Output(kOut), g.Output(kPivots)}, {p, l, u});
  RecipeRef given = g.OutputGrad(kOut);
  RecipeRef l_grad = f.Lower(f.Crop(given, l), -1), u_grad = f.Upper(f.Crop(given, u));
  RecipeRef square = f.SquareOfRows(u);
  RecipeRef l1 = f.Crop(l, square), u1 = f.Crop(u, square);
  RecipeRef l1_grad = f.Crop(l_grad, square), u1_grad = f.Crop(u_grad, square);
  RecipeRef l2_grad = f.Sum({l_grad, f.Minus(f.Pad(l1_grad, l))});
  RecipeRef u2_grad = f.Sum({u_grad, f.Minus(f.Pad(u1_grad, u))});
  RecipeRef below =
      f.Sum({f.MatMul(l1, l1_grad, true), f.Minus(f.MatMul(u2_grad, u, false, true))});
  RecipeRef above =
      f.Sum({f.MatMul(u1_grad, u1, false, true), f.Minus(f.MatMul(l, l2_grad, true))});
  RecipeRef core = f.Sum({f.Lower(below, -1), f.Upper(above)});
  auto left = [&](RecipeRef b) { return f.Triangular(l1, b, false, true, true); };
  auto right = [&](RecipeRef b) { return f.TriangularRight(b, u1, true, true); };
  RecipeRef x = g.InputShape(kX);
  RecipeRef sum =
      f.Sum({f.Pad(right(left(core)), x), f.Pad(left(u2_grad), x), f.Pad(right(l2_grad), x)});
  g.Call("matmul_v2", {p, sum}, {g.InputGrad(kX)});
}

void DefineLu(OpDef& op) {
  op.Comment(
        "X = P L U with partial pivoting: Out has U on and above its diagonal and L, whose "
        "diagonal is 1, below; row i was exchanged with row Pivots[i] - 1, one after the other. "
        "lu_unpack gives the three.")
      .Example(
          ">>> out, pivots, infos = F.lu(to_variable([[1.0, 2.0], [2.0, 6.0]]))\n"
          ">>> out.tolist(), pivots.tolist()\n"
          "([[2.0, 6.0], [0.5, -1.0]], [2, 2])")
      .Input(kX, "X", "[..., m, n]")
      .Output(kOut, "Out", "shape of X")
      .Output(kPivots, "Pivots", "[..., min(m, n)] int32, from 1")
      .Output(kInfos, "Infos", "[...] int32: 0, or i where pivot i - 1 is 0")
      .Attr(&LuAttrs::pivots, "pivots", "exchange rows; LAPACK always does",
            [](const std::string& name, const AttrValue& value) {
              ENFORCE(std::get<bool>(value), Unimplemented, name,
                      " must be True: without exchanges the factorisation is not stable");
            })
      .Shape([](InferContext& ctx) {
        const Stack s = StackOf(ctx.dims(kX));
        ctx.SetOutput(kOut, s.With({s.m, s.n}));
        ctx.SetOutput(kPivots, s.With({s.k()}), DType::kInt32);
        ctx.SetOutput(kInfos, s.batch, DType::kInt32);
      })
      .Grad(LuGrad);
}

template <class T>
struct Memory {
  Memory(int64_t mn, int64_t k) : pivots(k), a(mn) {}
  lapack::Integers pivots;
  lapack::Numbers<T> a;
};

template <class T>
struct LuKernel {
  static void Compute(KernelContext& ctx) {
    const Stack s = StackOf(ctx.In(kX).dims());
    const int64_t m = s.m, n = s.n, k = s.k();
    const T* x = ctx.In(kX).data<T>();
    T* out = ctx.OutOrNull(kOut) ? ctx.Out(kOut).mutable_data<T>() : nullptr;
    int32_t *pivots = ctx.OutOrNull(kPivots) ? ctx.Out(kPivots).mutable_data<int32_t>() : nullptr,
            *infos = ctx.OutOrNull(kInfos) ? ctx.Out(kInfos).mutable_data<int32_t>() : nullptr;
    ForEach(
        s.count, Cube(s) / 3, [&] { return std::make_unique<Memory<T>>(m * n, k); },
        [&](int64_t i, Memory<T>& memory) {
          T* a = memory.a.data();
          int64_t info = 0;
          if (k > 0) {
            TransposeInto(x + i * m * n, m, n, a);
            info = lapack::Getrf(m, n, a, memory.pivots);
            if (out) TransposeInto(a, n, m, out + i * m * n);
          }
          for (int64_t j = 0; pivots && j < k; ++j)
            pivots[i * k + j] = static_cast<int32_t>(memory.pivots[j]);
          if (infos) infos[i] = static_cast<int32_t>(info);
        });
  }
};

REGISTER_OPERATOR(lu, DefineLu);
REGISTER_CPU_KERNEL(lu, LuKernel, float, double);
}  // namespace factor

namespace unpack {
constexpr int kX = 0, kPivots = 1, kPmat = 0, kL = 1, kU = 2;

void InferUnpack(InferContext& ctx) {
  const LuUnpackAttrs& a = ctx.attrs<LuUnpackAttrs>();
  const Stack s = StackOf(ctx.dims(kX));
  const Dims& pivots = ctx.dims(kPivots);
  const Dims expected = s.With({s.k()});
  ENFORCE(pivots == expected || pivots.HasUnknown() || expected.HasUnknown(), InvalidArgument,
          "Pivots must be lu's, of shape ", expected, " beside X ", ctx.dims(kX), ", got shape ",
          pivots);
  const DType dtype = ctx.dtype(kX);
  ctx.SetOutput(kPmat, a.unpack_pivots ? s.With({s.m, s.m}) : Dims{0}, dtype);
  ctx.SetOutput(kL, a.unpack_ludata ? s.With({s.m, s.k()}) : Dims{0}, dtype);
  ctx.SetOutput(kU, a.unpack_ludata ? s.With({s.k(), s.n}) : Dims{0}, dtype);
}

void DefineLuUnpack(OpDef& op) {
  op.Comment(
        "Pmat, L and U of lu's results X and Pivots, so that Pmat L U is what was given to lu.")
      .Example(
          ">>> out, pivots, infos = F.lu(to_variable([[1.0, 2.0], [2.0, 6.0]]))\n"
          ">>> p, l, u = F.lu_unpack(out, pivots)\n"
          ">>> (p @ l @ u).tolist()\n"
          "[[1.0, 2.0], [2.0, 6.0]]")
      .Input(kX, "X", "Out of lu, [..., m, n]")
      .Input(kPivots, "Pivots", "Pivots of lu, [..., min(m, n)] int32")
      .Output(kPmat, "Pmat", "[..., m, m]; [0] without unpack_pivots")
      .Output(kL, "L", "[..., m, min(m, n)]; [0] without unpack_ludata")
      .Output(kU, "U", "[..., min(m, n), n]; [0] without unpack_ludata")
      .Attr(&LuUnpackAttrs::unpack_ludata, "unpack_ludata", "make L and U")
      .Attr(&LuUnpackAttrs::unpack_pivots, "unpack_pivots", "make Pmat")
      .Shape(InferUnpack)
      .KernelDTypeOf(kX)
      .MixedDTypes()
      .Grad([](GradBuilder& g) {
        Formula f(g);
        if (!g.attrs<LuUnpackAttrs>().unpack_ludata) {
          g.Call("fill_any_like", {g.InputShape(kX)}, {g.InputGrad(kX)});
          return;
        }
        RecipeRef x = g.InputShape(kX);
        f.Give({f.Pad(f.Lower(g.OutputGrad(kL), -1), x), f.Pad(f.Upper(g.OutputGrad(kU)), x)},
               g.InputGrad(kX));
      });
}

template <class T>
struct LuUnpackKernel {
  static void Compute(KernelContext& ctx) {
    const LuUnpackAttrs& a = ctx.attrs<LuUnpackAttrs>();
    const Stack s = StackOf(ctx.In(kX).dims());
    const int64_t m = s.m, n = s.n, k = s.k();
    const T* x = ctx.In(kX).data<T>();
    const int32_t* pivots = ctx.In(kPivots).data<int32_t>();
    if (Tensor* out = a.unpack_pivots ? ctx.OutOrNull(kPmat) : nullptr) {
      T* to = out->mutable_data<T>();
      std::fill_n(to, out->numel(), T(0));
      std::vector<int64_t> rows(m);
      for (int64_t i = 0; i < s.count; ++i) {
        for (int64_t r = 0; r < m; ++r) rows[r] = r;
        for (int64_t r = 0; r < k; ++r) {
          const int64_t with = pivots[i * k + r] - int64_t{1};
          ENFORCE(with >= 0 && with < m, OutOfRange, "Pivots must be from 1 to ", m, ", got ",
                  with + 1);
          std::swap(rows[r], rows[with]);
        }
        for (int64_t r = 0; r < m; ++r) to[(i * m + rows[r]) * m + r] = 1;
      }
    }
    if (!a.unpack_ludata) return;
    if (Tensor* out = ctx.OutOrNull(kL)) {
      T* to = out->mutable_data<T>();
      for (int64_t row = 0; row < s.count * m; ++row) {
        const int64_t r = m == 0 ? 0 : row % m;
        for (int64_t c = 0; c < k; ++c)
          to[row * k + c] = c < r ? x[row * n + c] : c == r ? T(1) : T(0);
      }
    }
    if (Tensor* out = ctx.OutOrNull(kU)) {
      T* to = out->mutable_data<T>();
      for (int64_t i = 0; i < s.count; ++i) {
        for (int64_t r = 0; r < k; ++r) {
          for (int64_t c = 0; c < n; ++c)
            to[(i * k + r) * n + c] = c < r ? T(0) : x[(i * m + r) * n + c];
        }
      }
    }
  }
};

REGISTER_OPERATOR(lu_unpack, DefineLuUnpack);
REGISTER_CPU_KERNEL(lu_unpack, LuUnpackKernel, float, double);
}  // namespace unpack

}  // namespace
}  // namespace dygraph::linalg

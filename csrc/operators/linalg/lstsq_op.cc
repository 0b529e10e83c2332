#include <cstring>
#include <limits>

#include "kernels/matmul.h"
#include "operators/linalg/linalg.h"

namespace dygraph::linalg {
namespace {

constexpr int kX = 0, kY = 1, kSolution = 0, kResiduals = 1, kRank = 2, kSingularValues = 3;

struct LstsqAttrs {
  double rcond = 0.0;
  std::string driver = "gels";
};

bool SaysRank(const std::string& driver) { return driver != "gels"; }
bool SaysValues(const std::string& driver) { return driver == "gelsd" || driver == "gelss"; }

void InferLstsq(InferContext& ctx) {
  const Stack s = StackOf(ctx.dims(kX)), y = StackOf(ctx.dims(kY), "Y");
  bool alike = s.batch.rank() == y.batch.rank();
  for (int i = 0; alike && i < s.batch.rank(); ++i)
    alike = s.batch[i] == y.batch[i] || !BothKnown(s.batch[i], y.batch[i]);
  ENFORCE(alike && (s.m == y.m || !BothKnown(s.m, y.m)), InvalidArgument,
          "Y must be [..., m, k] beside X [..., m, n] with the same leading axes, got X ",
          ctx.dims(kX), " and Y ", ctx.dims(kY));
  const std::string& driver = ctx.attrs<LstsqAttrs>().driver;
  ctx.SetOutput(kSolution, s.With({s.n, y.n}));
  const bool open = !BothKnown(s.m, s.n);
  ENFORCE(!open || s.batch.rank() == 0, InvalidArgument,
          "X of several matrices must have known sizes, which decide the axes of Residuals, got ",
          ctx.dims(kX));
  ctx.SetOutput(kResiduals, open ? Dims{-1} : s.m > s.n ? s.With({y.n}) : Dims{0});
  ctx.SetOutput(kRank, SaysRank(driver) ? s.batch : Dims{0}, DType::kInt32);
  ctx.SetOutput(kSingularValues, SaysValues(driver) ? s.With({s.k()}) : Dims{0});
}

// Golub and Pereyra (1973), as for pinv, of Solution = P Y with P the pseudo-inverse of X: with
// W = Solution@GRAD, Y@GRAD = P^T W, and X@GRAD as pinv gives it for P@GRAD = W Y^T.
void LstsqGrad(GradBuilder& g) {
  Formula f(g);
  constexpr const char* kReason =
      "gradients of Residuals and SingularValues are not made. Compute (X Solution - Y)^2, or svd";
  RecipeRef p = g.Temp(), x = g.Input(kX), w = g.OutputGrad(kSolution);
  const auto& a = g.attrs<LstsqAttrs>();
  g.Call("pinv", {x}, {p}).Attr("rcond", a.driver == "gels" ? 0.0 : a.rcond);
  RecipeRef refused = f.Refuse(g.OutputGrad(kResiduals), kReason),
            refused_too = f.Refuse(g.OutputGrad(kSingularValues), kReason);
  f.Give({f.MatMul(p, w, true), refused, refused_too}, g.InputGrad(kY));
  // with V = W^T P, p [n, m], y [m, k], w [n, k]
  RecipeRef pw = f.MatMul(p, w, true);                                // [m, k]
  RecipeRef middle = f.MatMul(pw, g.Output(kSolution), false, true);  // P^T W (P Y)^T
  RecipeRef residual = f.Sum({g.Input(kY), f.Minus(f.MatMul(x, g.Output(kSolution)))});
  RecipeRef right = f.MatMul(residual, f.MatMul(p, pw), false, true);  // (I - X P) Y (P P^T W)^T
  RecipeRef beside = f.Sum({w, f.Minus(f.MatMul(x, pw, true))});       // (I - P X) W, P X symmetric
  RecipeRef left = f.MatMul(f.MatMul(p, g.Output(kSolution), true), beside, false,
                            true);  // P^T P Y W^T (I - P X)
  f.Give({f.Minus(middle), right, left, refused, refused_too}, g.InputGrad(kX));
}

void DefineLstsq(OpDef& op) {
  op.Comment(
        "Solution = the least x that makes |X x - Y| least, for each column of Y. driver is "
        "LAPACK's routine: 'gels' takes X to have full rank (one that has not raises if LAPACK "
        "sees it), 'gelsy', 'gelsd' and 'gelss' find the rank.")
      .Example(
          ">>> x = to_variable([[1.0], [1.0]])\n"
          ">>> round(F.lstsq(x, to_variable([[1.0], [3.0]]))[0].item(), 4)\n"
          "2.0")
      .Input(kX, "X", "[..., m, n]")
      .Input(kY, "Y", "[..., m, k], leading axes as X's")
      .Output(kSolution, "Solution", "[..., n, k]")
      .Output(kResiduals, "Residuals", "[..., k], sums of squares, if m > n; otherwise [0]")
      .Output(kRank, "Rank", "[...] int32; [0] with 'gels'")
      .Output(kSingularValues, "SingularValues", "[..., min(m, n)]; [0] with 'gels' and 'gelsy'")
      .Attr(&LstsqAttrs::rcond, "rcond",
            "singular values below rcond times the greatest count as 0; negative: the spacing of "
            "the type times max(m, n)")
      .Attr(&LstsqAttrs::driver, "driver", "'gels', 'gelsy', 'gelsd' or 'gelss'",
            OneOf({"gels", "gelsy", "gelsd", "gelss"}))
      .Shape(InferLstsq)
      .Grad(LstsqGrad);
}

// One call of the driver on columns; b has max(m, n) rows. A work size of -1 asks.
template <class T>
int64_t Solve(const std::string& driver, int64_t m, int64_t n, int64_t k, T* a, T* b, T* values,
              T rcond, int64_t* rank, T* work, int64_t size, lapack::Integers& integers) {
  int64_t lda = lapack::Leading(m), ldb = lapack::Leading(std::max(m, n)), info = 0;
  char trans = 'N';
  if (driver == "gels") {
    lapack::Invoke<T>(LapackRoutine::kGels, &trans, &m, &n, &k, a, &lda, b, &ldb, work, &size,
                      &info);
  } else if (driver == "gelsy") {
    lapack::Invoke<T>(LapackRoutine::kGelsy, &m, &n, &k, a, &lda, b, &ldb, integers.data(), &rcond,
                      rank, work, &size, &info);
  } else if (driver == "gelss") {
    lapack::Invoke<T>(LapackRoutine::kGelss, &m, &n, &k, a, &lda, b, &ldb, values, &rcond, rank,
                      work, &size, &info);
  } else {
    lapack::Invoke<T>(LapackRoutine::kGelsd, &m, &n, &k, a, &lda, b, &ldb, values, &rcond, rank,
                      work, &size, integers.data(), &info);
  }
  return lapack::InfoOf(info);
}

template <class T>
struct Memory {
  Memory(int64_t mn, int64_t b, int64_t k, int64_t size, int64_t integers, int64_t residual)
      : integers(integers),
        many(integers),
        a(mn),
        b(b),
        values(k),
        work(size),
        residual(residual) {}
  lapack::Integers integers;
  int64_t many;
  lapack::Numbers<T> a, b, values, work, residual;
};

template <class T>
struct LstsqKernel {
  static void Compute(KernelContext& ctx) {
    const Stack s = StackOf(ctx.In(kX).dims()), right = StackOf(ctx.In(kY).dims(), "Y");
    const auto& attrs = ctx.attrs<LstsqAttrs>();
    const std::string& driver = attrs.driver;
    const int64_t m = s.m, n = s.n, k = s.k(), columns = right.n, longer = std::max(m, n);
    const T *x = ctx.In(kX).data<T>(), *y = ctx.In(kY).data<T>();
    T* to = ctx.Out(kSolution).mutable_data<T>();
    Tensor *residuals = m > n ? ctx.OutOrNull(kResiduals) : nullptr,
           *ranks = SaysRank(driver) ? ctx.OutOrNull(kRank) : nullptr,
           *singular = SaysValues(driver) ? ctx.OutOrNull(kSingularValues) : nullptr;
    T* sums = residuals ? residuals->mutable_data<T>() : nullptr;
    int32_t* rank_to = ranks ? ranks->mutable_data<int32_t>() : nullptr;
    T* values_to = singular ? singular->mutable_data<T>() : nullptr;
    if (s.count == 0) return;
    EnforceFinite(s, x, "X");
    EnforceFinite(right, y, "Y");
    T rcond = static_cast<T>(attrs.rcond);
    if (rcond < 0) rcond = std::numeric_limits<T>::epsilon() * static_cast<T>(longer);
    int64_t size = 1, integers = std::max<int64_t>(n, 1);
    if (k > 0) {
      T ask = 0, none = 0;
      int64_t rank = 0;
      lapack::Integers asked(std::max<int64_t>(n, 1));
      asked.Clear(1);
      const int64_t some = std::max<int64_t>(columns, 1);
      Solve<T>(driver, m, n, some, nullptr, nullptr, &none, rcond, &rank, &ask, -1, asked);
      size = lapack::SizeOf(ask);
      if (driver == "gelsd") integers = std::max(integers, asked[0]);
    }
    std::vector<int64_t> infos(s.count);
    ForEach(
        s.count, 6 * Cube(s),
        [&] {
          return std::make_unique<Memory<T>>(m * n, longer * columns, k, size, integers,
                                             sums ? m * columns : 0);
        },
        [&](int64_t i, Memory<T>& memory) {
          T *a = memory.a.data(), *b = memory.b.data();
          int64_t rank = 0;
          T* solution = to + i * n * columns;
          if (k == 0 || columns == 0) {
            std::fill_n(solution, n * columns, T(0));
          }
          if (k > 0) {
            TransposeInto(x + i * m * n, m, n, a);
            for (int64_t c = 0; c < columns; ++c) {
              for (int64_t r = 0; r < longer; ++r)
                b[c * longer + r] = r < m ? y[(i * m + r) * columns + c] : T(0);
            }
            memory.integers.Clear(memory.many);  // no column is fixed in front
            infos[i] = Solve(driver, m, n, columns, a, b, memory.values.data(), rcond, &rank,
                             memory.work.data(), size, memory.integers);
            for (int64_t r = 0; r < n; ++r) {
              for (int64_t c = 0; c < columns; ++c) solution[r * columns + c] = b[c * longer + r];
            }
          }
          if (rank_to) rank_to[i] = static_cast<int32_t>(lapack::InfoOf(rank));
          if (values_to) std::copy_n(memory.values.data(), k, values_to + i * k);
          if (!sums) return;
          T* d = memory.residual.data();
          std::memcpy(d, y + i * m * columns, m * columns * sizeof(T));
          kernels::MatMul<T>(false, false, m, columns, n, T(-1), x + i * m * n, n, solution,
                             columns, T(1), d, columns);
          for (int64_t c = 0; c < columns; ++c) {
            T sum = 0;
            for (int64_t r = 0; r < m; ++r) sum += d[r * columns + c] * d[r * columns + c];
            sums[i * columns + c] = sum;
          }
        });
    const int64_t i = FirstOf(infos);
    if (i < 0) return;
    ENFORCE(driver != "gels", InvalidArgument, "X must have full rank for driver 'gels', but ",
            NameOf(s, i), " has not. Use driver='gelsd'");
    THROW(InvalidArgument, "the singular values of X did not converge in ", NameOf(s, i));
  }
};

REGISTER_OPERATOR(lstsq, DefineLstsq);
REGISTER_CPU_KERNEL(lstsq, LstsqKernel, float, double);

}  // namespace
}  // namespace dygraph::linalg

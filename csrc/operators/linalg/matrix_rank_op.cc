#include <cmath>
#include <limits>

#include "operators/linalg/decompose.h"
#include "operators/linear/matrix_products.h"

namespace dygraph::linalg {
namespace {

constexpr int kX = 0, kTolTensor = 1, kOut = 0;

struct MatrixRankAttrs {
  double tol = 0.0;
  bool use_default_tol = true;
  bool hermitian = false;
};

void DefineMatrixRank(OpDef& op) {
  op.Comment(
        "Out = how many singular values of X are above the tolerance: TolTensor or tol, by default "
        "the greatest value times the spacing of the type times max(m, n). hermitian takes "
        "absolute eigenvalues, and reads the lower triangle.")
      .Example(">>> F.matrix_rank(to_variable([[1.0, 2.0], [2.0, 4.0]])).item()\n1")
      .Input(kX, "X", "[..., m, n]")
      .Input(kTolTensor, "TolTensor", "in place of tol; broadcasts with [...]", kDispensable)
      .Output(kOut, "Out", "[...] int32")
      .Attr(&MatrixRankAttrs::tol, "tol", "the tolerance where use_default_tol is false")
      .Attr(&MatrixRankAttrs::use_default_tol, "use_default_tol", "the tolerance follows from X")
      .Attr(&MatrixRankAttrs::hermitian, "hermitian", "X is symmetric")
      .Shape([](InferContext& ctx) {
        const bool hermitian = ctx.attrs<MatrixRankAttrs>().hermitian;
        Dims out = (hermitian ? SquareOf(ctx.dims(kX)) : StackOf(ctx.dims(kX))).batch;
        if (ctx.HasInput(kTolTensor))
          out = BroadcastDims(out, ctx.dims(kTolTensor), "the stack", "TolTensor");
        ctx.SetOutput(kOut, out, DType::kInt32);
      })
      .KernelDTypeOf(kX)
      .NoGrad();
}

// Absolute eigenvalues or singular values of each matrix.
template <class T>
void Values(const Tensor& x, bool hermitian, int64_t count, T* to) {
  if (!hermitian) return DecomposeSingular<T>(x, 'N', nullptr, to, nullptr);
  DecomposeSymmetric<T>(x, true, to, nullptr);
  for (int64_t i = 0; i < count; ++i) to[i] = std::abs(to[i]);
}

template <class T>
struct MatrixRankKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<MatrixRankAttrs>();
    const Stack s = StackOf(ctx.In(kX).dims());
    const int64_t k = s.k();
    lapack::Numbers<T> memory(s.count * k);
    T* values = memory.data();
    Values(ctx.In(kX), a.hermitian, s.count * k, values);
    Tensor& out = ctx.Out(kOut);
    int32_t* to = out.mutable_data<int32_t>();
    auto count = [&](int64_t i, T tolerance) {
      return static_cast<int32_t>(
          std::count_if(values + i * k, values + (i + 1) * k, [&](T v) { return v > tolerance; }));
    };
    if (const Tensor* tolerances = ctx.InOrNull(kTolTensor)) {
      // as the products of matrices [1, 1] broadcast
      Dims x = s.batch, y = tolerances->dims();
      for (int i = 0; i < 2; ++i) x.push_back(1), y.push_back(1);
      const T* tolerance = tolerances->data<T>();
      matmul::Matrices(
          matmul::Describe(x, y, false, false), 0, out.numel(),
          [&](int64_t i, int64_t xi, int64_t yi) { to[i] = count(xi, tolerance[yi]); });
      return;
    }
    for (int64_t i = 0; i < s.count; ++i) {
      T tolerance = static_cast<T>(a.tol);
      if (a.use_default_tol) {
        const T most = k == 0 ? T(0) : *std::max_element(values + i * k, values + (i + 1) * k);
        tolerance = most * std::numeric_limits<T>::epsilon() * static_cast<T>(std::max(s.m, s.n));
      }
      to[i] = count(i, tolerance);
    }
  }
};

REGISTER_OPERATOR(matrix_rank, DefineMatrixRank);
REGISTER_CPU_KERNEL(matrix_rank, MatrixRankKernel, float, double);

}  // namespace
}  // namespace dygraph::linalg

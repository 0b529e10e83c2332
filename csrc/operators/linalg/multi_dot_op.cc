#include <cstring>
#include <limits>

#include "operators/linalg/linalg.h"
#include "operators/linear/matrix_products.h"

namespace dygraph::linalg {
namespace {

constexpr int kX = 0, kOut = 0;

// Rows of the first matrix, then columns of each; -1 where unknown. A vector is a row in front, a
// column at the end.
Dims SizesOf(const std::vector<Dims>& shapes) {
  const size_t count = shapes.size();
  ENFORCE(count >= 2, InvalidArgument, "X must hold at least two matrices, got ", count);
  Dims sizes;
  for (size_t i = 0; i < count; ++i) {
    const Dims& x = shapes[i];
    const bool outer = i == 0 || i + 1 == count;
    ENFORCE(x.rank() == 2 || (x.rank() == 1 && outer), InvalidArgument,
            "X must hold matrices, the first and the last may be vectors, got shape ", x, " at ",
            i);
    const int64_t rows = x.rank() == 2 || i > 0 ? x[0] : 1;
    if (i == 0) sizes.push_back(rows);
    ENFORCE(rows == sizes.back() || !BothKnown(rows, sizes.back()) || i == 0, InvalidArgument, "X[",
            i, "] must have as many rows as X[", i - 1, "] has columns, ", sizes.back(),
            ", got shape ", x);
    sizes.push_back(x.rank() == 2 ? x[1] : i == 0 ? x[0] : 1);
  }
  return sizes;
}

template <class Context>
std::vector<Dims> ShapesOf(const Context& ctx) {
  std::vector<Dims> shapes;
  for (int i = 0; i < ctx.InputCount(kX); ++i) {
    if constexpr (std::is_same_v<Context, InferContext>) {
      shapes.push_back(ctx.dims(kX, i));
    } else {
      shapes.push_back(ctx.In(kX, i).dims());
    }
  }
  return shapes;
}

void DefineMultiDot(OpDef& op) {
  op.Comment(
        "Out = the matrix product of all X, in the order of least work. The first and the last may "
        "be vectors, [n].")
      .Example(
          ">>> x, y = to_variable([[1.0, 2.0]]), to_variable([[3.0], [4.0]])\n"
          ">>> F.multi_dot([x, y, x]).tolist()\n"
          "[[11.0, 22.0]]")
      .Input(kX, "X", "two or more matrices [m, n]", kDuplicable)
      .Output(kOut, "Out", "[rows of the first, columns of the last]")
      .Shape([](InferContext& ctx) {
        const std::vector<Dims> shapes = ShapesOf(ctx);
        const Dims sizes = SizesOf(shapes);
        Dims out;
        if (shapes.front().rank() == 2) out.push_back(sizes[0]);
        if (shapes.back().rank() == 2) out.push_back(sizes[sizes.rank() - 1]);
        ctx.SetOutput(kOut, out);
      })
      // from left to right: the products in front of each, and what flows back from behind
      .Grad([](GradBuilder& g) {
        const int count = g.InputCount(kX);
        std::vector<RecipeRef> front{g.Input(kX, 0)};
        for (int i = 1; i + 1 < count; ++i)
          front.push_back(g.Apply("matmul_v2", {front.back(), g.Input(kX, i)}));
        RecipeRef whole = g.OutputGrad(kOut);
        for (int i = count - 1; i > 0; --i) {
          RecipeRef before = i == 1 ? g.InputGrad(kX, 0) : g.Temp();
          g.Call("matmul_v2_grad", {front[i - 1], g.Input(kX, i), whole},
                 {before, g.InputGrad(kX, i)});
          whole = before;
        }
      });
}

template <class T>
struct MultiDotKernel {
  static void Compute(KernelContext& ctx) {
    const Dims sizes = SizesOf(ShapesOf(ctx));
    Tensor& out = ctx.Out(kOut);
    if (out.numel() == 0) return;
    const int count = ctx.InputCount(kX);
    // Cormen et al., "Introduction to Algorithms", 14.2: where to split the product from i to j
    std::vector<double> cost(count * count, 0.0);
    std::vector<int> split(count * count, 0);
    for (int length = 2; length <= count; ++length) {
      for (int i = 0, j = length - 1; j < count; ++i, ++j) {
        cost[i * count + j] = std::numeric_limits<double>::infinity();
        for (int k = i; k < j; ++k) {
          const double here = cost[i * count + k] + cost[(k + 1) * count + j] +
                              static_cast<double>(sizes[i]) * static_cast<double>(sizes[k + 1]) *
                                  static_cast<double>(sizes[j + 1]);
          if (here < cost[i * count + j]) {
            cost[i * count + j] = here;
            split[i * count + j] = k;
          }
        }
      }
    }
    Make(ctx, sizes, split, 0, count - 1, out.mutable_data<T>());
  }

 private:
  using Owned = std::unique_ptr<lapack::Numbers<T>>;
  static void Make(KernelContext& ctx, const Dims& sizes, const std::vector<int>& split, int i,
                   int j, T* to) {
    const int k = split[i * ctx.InputCount(kX) + j];
    Owned left, right;
    auto part = [&](int from, int last, Owned* owned) -> const T* {
      if (from == last) return ctx.In(kX, from).data<T>();
      *owned = std::make_unique<lapack::Numbers<T>>(sizes[from] * sizes[last + 1]);
      Make(ctx, sizes, split, from, last, (*owned)->data());
      return (*owned)->data();
    };
    const T *a = part(i, k, &left), *b = part(k + 1, j, &right);
    const int64_t m = sizes[i], inner = sizes[k + 1], n = sizes[j + 1];
    kernels::MatMul<T>(false, false, m, n, inner, T(1), a, inner, b, n, T(0), to, n);
  }
};

REGISTER_OPERATOR(multi_dot, DefineMultiDot);
REGISTER_CPU_KERNEL(multi_dot, MultiDotKernel, float, double);

}  // namespace
}  // namespace dygraph::linalg

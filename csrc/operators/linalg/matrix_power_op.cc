#include <cstring>

#include "operators/linalg/linalg.h"
#include "operators/linear/matrix_products.h"

namespace dygraph::linalg {
namespace {

constexpr int kX = 0, kOut = 0;

struct MatrixPowerAttrs {
  int32_t n = 1;
};

// By squaring, on anything that has a product: values in the kernel, references in the recipe.
template <class V, class Multiply>
V Power(V x, uint32_t n, const Multiply& multiply) {
  V result{};
  for (bool first = true;; x = multiply(x, x)) {
    if (n & 1) {
      result = first ? x : multiply(result, x);
      first = false;
    }
    n >>= 1;
    if (n == 0) return result;
  }
}

uint32_t Magnitude(int32_t n) {
  return n < 0 ? 0u - static_cast<uint32_t>(n) : static_cast<uint32_t>(n);
}

// The products of the forward computation are made again, and walked back: for c = a b,
// a@GRAD = c@GRAD b^T and b@GRAD = a^T c@GRAD. For n < 0 it is the power of the inverse Z, whose
// gradient gives X -Z^T Z@GRAD Z^T.
void MatrixPowerGrad(GradBuilder& g) {
  const int32_t n = g.attrs<MatrixPowerAttrs>().n;
  if (n == 0) {  // the identity
    g.Call("scale", {g.OutputGrad(kOut)}, {g.InputGrad(kX)}).Attr("scale", 0.0);
    return;
  }
  Formula f(g);
  RecipeRef x = g.Input(kX), base = n < 0 ? g.Apply("inverse", {x}) : x;
  std::vector<RecipeRef> values{base};
  std::vector<std::pair<size_t, size_t>> factors{{0, 0}};
  const size_t last = Power<size_t>(0, Magnitude(n), [&](size_t a, size_t b) {
    values.push_back(f.MatMul(values[a], values[b]));
    factors.emplace_back(a, b);
    return values.size() - 1;
  });
  std::vector<RecipeSlot> grads(values.size());
  grads[last] = RecipeSlot(g.OutputGrad(kOut));
  auto sum = [&](size_t i) { return g.Apply("sum", {grads[i]}); };
  for (size_t c = values.size() - 1; c > 0; --c) {
    if (grads[c].empty()) continue;
    const auto [a, b] = factors[c];
    RecipeRef whole = sum(c);
    grads[a].push_back(f.MatMul(whole, values[b], false, true));
    grads[b].push_back(f.MatMul(values[a], whole, true));
  }
  if (n > 0) {
    g.Call("sum", {grads[0]}, {g.InputGrad(kX)});
    return;
  }
  RecipeRef product = f.MatMul(f.MatMul(base, sum(0), true), base, false, true);
  g.Call("scale", {product}, {g.InputGrad(kX)}).Attr("scale", -1.0);
}

void DefineMatrixPower(OpDef& op) {
  op.Comment(
        "Out = X^n, the matrix product of n factors X, for each matrix. n = 0 gives identities, a "
        "negative n powers of the inverse, where a singular matrix raises.")
      .Example(
          ">>> F.matrix_power(to_variable([[1.0, 1.0], [0.0, 1.0]]), n=3).tolist()\n"
          "[[1.0, 3.0], [0.0, 1.0]]")
      .Input(kX, "X", "[..., n, n]")
      .Output(kOut, "Out", "shape of X")
      .Attr(&MatrixPowerAttrs::n, "n", "how many factors")
      .Shape([](InferContext& ctx) {
        const Stack s = SquareOf(ctx.dims(kX));
        ctx.SetOutput(kOut, s.With({s.n, s.n}));
      })
      .Grad(MatrixPowerGrad);
}

template <class T>
struct MatrixPowerKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    const Stack s = SquareOf(x.dims());
    const int32_t n = ctx.attrs<MatrixPowerAttrs>().n;
    T* to = ctx.Out(kOut).mutable_data<T>();
    const int64_t total = x.numel();
    if (total == 0) return;
    if (n == 0) {
      std::fill_n(to, total, T(0));
      for (int64_t row = 0; row < s.count * s.n; ++row) to[row * s.n + row % s.n] = 1;
      return;
    }
    using Value = std::shared_ptr<lapack::Numbers<T>>;
    auto base = std::make_shared<lapack::Numbers<T>>(total);
    if (n < 0) {
      Invert(s, x.data<T>(), "X", base->data());
    } else {
      std::memcpy(base->data(), x.data<T>(), total * sizeof(T));
    }
    const matmul::Product p = matmul::Describe(x.dims(), x.dims(), false, false);
    const Value result = Power<Value>(base, Magnitude(n), [&](const Value& a, const Value& b) {
      auto product = std::make_shared<lapack::Numbers<T>>(total);
      matmul::Multiply<T>(p, T(1), a->data(), b->data(), product->data());
      return product;
    });
    std::memcpy(to, result->data(), total * sizeof(T));
  }
};

REGISTER_OPERATOR(matrix_power, DefineMatrixPower);
REGISTER_CPU_KERNEL(matrix_power, MatrixPowerKernel, float, double);

}  // namespace
}  // namespace dygraph::linalg

// Products of stacks of matrices, whose leading axes broadcast.
#pragma once

#include "kernels/matmul.h"
#include "kernels/matrix_stack.h"
#include "kernels/parallel.h"

namespace dygraph::kernels {

namespace detail {
template <class T>
void MatMulMatrices(const MatrixStack& stack, const StackedProduct<T>& p, int64_t begin,
                    int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    int64_t rest = i, at_a = 0, at_b = 0, at_c = 0;
    for (int d = stack.dims.rank() - 1; d >= 0; --d) {
      const int64_t at = rest % stack.dims[d];
      rest /= stack.dims[d];
      at_a += at * stack.a[d];
      at_b += at * stack.b[d];
      at_c += at * stack.c[d];
    }
    MatMul<T>(p.ta, p.tb, p.m, p.n, p.k, p.alpha, p.a + at_a * p.m * p.k, p.lda,
              p.b + at_b * p.k * p.n, p.ldb, p.beta, p.c + at_c * p.m * p.n, p.ldc);
  }
}
}  // namespace detail

// Small products run some on each thread: by the sizes alone, for one and the same product on one
// thread or on all may differ in the last bit.
template <class T>
void MatMulStack(const MatrixStack& stack, const StackedProduct<T>& p) {
  constexpr int64_t kSmall = 1 << 24;  // multiplications
  const int64_t count = Numel(stack.dims), volume = p.m * p.n * p.k;
  if (p.beta != T(0) || volume > kSmall || count < 2)
    return detail::MatMulMatrices(stack, p, 0, count);
  ParallelRows(count, volume / 8 + 1, [&](int64_t begin, int64_t end) {
    detail::MatMulMatrices(stack, p, begin, end);
  });
}

}  // namespace dygraph::kernels

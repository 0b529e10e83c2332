// Matrix product of our own, for tiny sizes and for machines without a tuned library.
#pragma once

#include <cstdint>

namespace dygraph::kernels {

// c [m, n] = alpha * op(a) [m, k] * op(b) [k, n] + beta * c, row-major, op transposing where ta,
// tb. c is not read when beta is 0. Every element is summed in the order of k by one thread: the
// bits do not depend on the thread count. T: float, double.
template <class T>
void Gemm(bool ta, bool tb, int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t lda,
          const T* b, int64_t ldb, T beta, T* c, int64_t ldc);

}  // namespace dygraph::kernels

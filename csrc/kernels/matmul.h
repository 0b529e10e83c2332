// Matrix products as operators take them: our own gemm, or oneDNN's where that is faster.
#pragma once

#include <cstdint>

namespace dygraph::kernels {

// As Gemm. The kernel follows from the shape and the instruction set alone, by a table of
// measurements (product_choice.h), so it is the same for any number of threads.
template <class T>
void MatMul(bool ta, bool tb, int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t lda,
            const T* b, int64_t ldb, T beta, T* c, int64_t ldc);

}  // namespace dygraph::kernels

// Matrix products as operators take them: our own gemm, or oneDNN's where that is faster.
#pragma once

#include <type_traits>

#include "kernels/gemm.h"
#include "platform/onednn.h"

namespace dygraph::kernels {

// m n k from which oneDNN's sgemm was measured to win.
constexpr int64_t kOneDnnVolume = 1 << 20;

// As Gemm.
template <class T>
void MatMul(bool ta, bool tb, int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t lda,
            const T* b, int64_t ldb, T beta, T* c, int64_t ldc) {
  if constexpr (std::is_same_v<T, float>) {
    if (m > 1 && n > 1 && m * n * k >= kOneDnnVolume &&
        OneDnnGemm(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)) {
      return;
    }
  }
  Gemm<T>(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

}  // namespace dygraph::kernels

// Matrix products as operators take them: our own gemm, or oneDNN's where that is faster.
#pragma once

#include <type_traits>

#include "kernels/gemm.h"
#include "kernels/packed_weights.h"
#include "platform/onednn.h"

namespace dygraph::kernels {

// m n k from which oneDNN's sgemm was measured to win.
constexpr int64_t kOneDnnVolume = 1 << 20;
// Of a [m, k] times b [n, k] transposed: below kFewestRows rows of a it wins sooner, from there to
// kMostRows our own panels do (by 2 to 5 times on two threads, where k is cut there).
constexpr int64_t kOneDnnVolumeFewRows = 1 << 15, kFewestRows = 16, kMostRows = 96,
                  kPanelsPay = 1 << 14;  // n k

// With a transposed matrix, sums of this length and results of this size our own product was
// measured to win, by 5 to 15 % on two threads: gradients of layers some hundred to a thousand
// wide.
inline bool OwnProductWins(bool ta, bool tb, int64_t m, int64_t n, int64_t k) {
  return ta != tb && k > 512 && k <= 2048 && m * n >= 1 << 17 && m * n <= 1 << 19;
}

// As Gemm.
template <class T>
void MatMul(bool ta, bool tb, int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t lda,
            const T* b, int64_t ldb, T beta, T* c, int64_t ldc) {
  if (!ta && tb && m > 1 && n > 1 && m <= kMostRows) {
    if constexpr (std::is_same_v<T, float>) {
      if (m < kFewestRows && m * n * k >= kOneDnnVolumeFewRows &&
          OneDnnGemm(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)) {
        return;
      }
    }
    if (n * k >= kPanelsPay && alpha == T(1) && (beta == T(0) || beta == T(1)))
      return FewRows<T>(m, n, k, a, lda, b, ldb, beta == T(1), c, ldc);
  }
  if constexpr (std::is_same_v<T, float>) {
    if (m > 1 && n > 1 && m * n * k >= kOneDnnVolume && !OwnProductWins(ta, tb, m, n, k) &&
        OneDnnGemm(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)) {
      return;
    }
  }
  Gemm<T>(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

}  // namespace dygraph::kernels

#include "kernels/matmul.h"

#include <array>
#include <string>
#include <type_traits>

#include "base/flags.h"
#include "kernels/gemm.h"
#include "kernels/packed_matrix.h"
#include "kernels/packed_weights.h"
#include "kernels/product_choice.h"
#include "kernels/simd.h"
#include "platform/onednn.h"

namespace dygraph {

FLAG(std::string, matrix_product, "",
     "compute float32 matrix products by: own, panels, onednn; empty: by what was measured");

namespace kernels {
namespace {

// The classes lie between these sizes; benchmarks/products.py measures one point of each.
constexpr std::array<int64_t, 6> kBounds = {14, 40, 112, 320, 896, 2560};
constexpr int kClasses = 7, kWord = kClasses + 1, kLine = kClasses * kWord,
              kOrientation = kClasses * kLine;

constexpr const char* kTables[] = {  // by instruction set: baseline, AVX2, AVX-512
#include "kernels/product_choice.inc"
};

// a b^T with at most this many rows of a may take panels, from this many elements of b.
constexpr int64_t kMostRows = 96, kPanelsPay = 1 << 14;

int ClassOf(int64_t size) {
  size_t found = 0;
  while (found < kBounds.size() && size >= kBounds[found]) ++found;
  return static_cast<int>(found);
}

Product Asked() {
  if (FLAGS_matrix_product == "own") return Product::kOwn;
  if (FLAGS_matrix_product == "panels") return Product::kPanels;
  return Product::kLibrary;
}

}  // namespace

Product ChooseProduct(int level, bool ta, bool tb, int64_t m, int64_t n, int64_t k) {
  if (!FLAGS_matrix_product.empty()) return Asked();
  int orientation = ta ? 2 : tb ? 1 : 0;
  const char* table = kTables[level >= 4 ? 2 : level >= 3 ? 1 : 0];
  return static_cast<Product>(table[orientation * kOrientation + ClassOf(m) * kLine +
                                    ClassOf(n) * kWord + ClassOf(k)]);
}

SumOrder OrderOfSums(int64_t m, int64_t n, int64_t k) {
  const bool whole = m > 1 && n > 1 && k > 0;
  const Product product = whole ? ChooseProduct(CpuLevel(), false, false, m, n, k) : Product::kOwn;
  return product == Product::kLibrary ? SumOrder::kOther : GemmOrder(m, n, k);
}

template <class T>
void MatMul(bool ta, bool tb, int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t lda,
            const T* b, int64_t ldb, T beta, T* c, int64_t ldc) {
  const bool whole = m > 1 && n > 1 && k > 0;  // neither a row, a column nor an empty sum
  if constexpr (std::is_same_v<T, float>) {
    const Product product = whole ? ChooseProduct(CpuLevel(), ta, tb, m, n, k) : Product::kOwn;
    if (product == Product::kOwn)
      return Gemm<T>(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    if (product == Product::kLibrary &&
        OneDnnGemm(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc))
      return;
  }
  // Of double, and where oneDNN is not there, panels pay by size.
  const bool panels = whole && !ta && tb && m <= kMostRows && n * k >= kPanelsPay &&
                      alpha == T(1) && (beta == T(0) || beta == T(1));
  if (panels) return FewRows<T>(m, n, k, a, lda, b, ldb, beta == T(1), c, ldc);
  Gemm<T>(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

template void MatMul<float>(bool, bool, int64_t, int64_t, int64_t, float, const float*, int64_t,
                            const float*, int64_t, float, float*, int64_t);
template void MatMul<double>(bool, bool, int64_t, int64_t, int64_t, double, const double*, int64_t,
                             const double*, int64_t, double, double*, int64_t);

}  // namespace kernels
}  // namespace dygraph

// A matrix that many products with few rows read, as the steps of a recurrent layer do: packed once
// into panels, which a thread takes column by column.
#pragma once

#include <cstdint>

#include "tensor/scratch.h"

namespace dygraph::kernels {

// b = op(x) [k, blocks * width], op transposing where tb; each block of columns begins a panel.
// Every element of a product is summed in the order of k: the bits depend on no thread, and not on
// the number of rows. T: float, double.
template <class T>
class PackedWeights {
 public:
  PackedWeights(bool tb, int64_t blocks, int64_t width, int64_t k, const T* x, int64_t ldx);

  int64_t panels() const { return panels_; }          // of a block
  int64_t panel_columns() const { return columns_; }  // of a panel; the last may have fewer

  // In each block the columns of the panels [first, last): c = (add ? c : 0) + a b, a [m, k]. Runs
  // on the calling thread.
  void Multiply(int64_t m, const T* a, int64_t lda, int64_t first, int64_t last, bool add, T* c,
                int64_t ldc) const;

 private:
  int level_;
  int64_t blocks_, width_, k_, columns_, panels_;
  Scratch room_;
  const T* packed_;
};

// c [m, n] = (add ? c : 0) + a b^T with b [n, k], for few rows of a: each thread packs and
// multiplies its rows of b. Bits as above.
template <class T>
void FewRows(int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* b, int64_t ldb,
             bool add, T* c, int64_t ldc);

}  // namespace dygraph::kernels

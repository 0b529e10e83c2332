// What operators share that solve for a stack of right-hand sides, which broadcasts with the stack
// of matrices.
#pragma once

#include "operators/linalg/stacks.h"
#include "operators/linear/matrix_products.h"

namespace dygraph::linalg {

// A [..., n, n] with B [..., n, k]: the product A B has the shape of B's part and of the result.
inline matmul::Product SystemOf(const Dims& a, const Dims& b, const char* a_slot,
                                const char* b_slot) {
  SquareOf(a, a_slot);
  ENFORCE(b.rank() >= 2, InvalidArgument, b_slot,
          " must hold right-hand sides as columns, [..., n, k], got shape ", b,
          ". A single one gets an axis: [n, 1]");
  const int64_t n = a[a.rank() - 1], rows = b[b.rank() - 2];
  ENFORCE(n == rows || !BothKnown(n, rows), InvalidArgument, b_slot,
          " must have a row for each row of ", a_slot, " ", a, ", got shape ", b);
  return matmul::Describe(a, b, false, false);
}

inline Dims ResultOf(const matmul::Product& p) {
  Dims out = p.batch;
  out.push_back(p.m < 0 ? p.k : p.m);
  out.push_back(p.n);
  return out;
}

// The matrices of A, as those of which one may be singular.
inline Stack MatricesOf(const matmul::Product& p) {
  return {p.x_batch, p.m, p.m, Numel(p.x_batch)};
}

}  // namespace dygraph::linalg

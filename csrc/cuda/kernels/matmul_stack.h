// kernels/matmul_stack.h on the device: runs of matrices that lie evenly apart are one call.
#pragma once

#include "kernels/matmul.h"
#include "kernels/matrix_stack.h"
#include "kernels/strides.h"

namespace dygraph::kernels {

template <class T, class C = T>
void MatMulStack(const MatrixStack& stack, const StackedProduct<T, C>& p) {
  Walk<3> walk;
  for (int d = 0; d < stack.dims.rank(); ++d) {
    if (stack.dims[d] == 0) return;
    walk.Push(stack.dims[d], {stack.a[d], stack.b[d], stack.c[d]});
  }
  const int64_t a_size = p.m * p.k, b_size = p.k * p.n, c_size = p.m * p.n;
  // Results that repeat are added one after another.
  int outer = walk.rank;
  int64_t count = 1, a_apart = 0, b_apart = 0, c_apart = 0;
  if (outer > 0 && walk.strides[2][outer - 1] != 0) {
    --outer;
    count = walk.dims[outer];
    a_apart = walk.strides[0][outer] * a_size;
    b_apart = walk.strides[1][outer] * b_size;
    c_apart = walk.strides[2][outer] * c_size;
  }
  const int64_t calls = walk.Count(0, outer);
  Odometer<3> at(walk, outer, 0);
  for (int64_t i = 0; i < calls; ++i, at.Next()) {
    MatMulStack<T>(p.ta, p.tb, p.m, p.n, p.k, p.alpha, p.a + at.offset[0] * a_size, p.lda, a_apart,
                   p.b + at.offset[1] * b_size, p.ldb, b_apart, p.beta, p.c + at.offset[2] * c_size,
                   p.ldc, c_apart, count);
  }
}

}  // namespace dygraph::kernels

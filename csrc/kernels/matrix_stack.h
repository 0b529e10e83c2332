// What kernels/matmul_stack.h computes.
#pragma once

#include "kernels/convert.h"
#include "tensor/dims.h"

namespace dygraph::kernels {

// c[i] = alpha op(a[...]) op(b[...]) + beta c[...] over the axes `dims`. Strides count matrices; 0
// repeats one. Where c repeats, beta must be 1, and the products are added in order.
struct MatrixStack {
  Dims dims, a, b, c;
};

// One product of a stack, as MatMul takes it; the sizes of its matrices are m * k, k * n and m * n.
// C is T, or on a device float where T has 16 bits.
template <class T, class C = T>
struct StackedProduct {
  bool ta, tb;
  int64_t m, n, k;
  Wide<T> alpha;
  const T* a;
  int64_t lda;
  const T* b;
  int64_t ldb;
  Wide<T> beta;
  C* c;
  int64_t ldc;
};

}  // namespace dygraph::kernels

// kernels/matmul.h on the device: cuBLASLt. 16-bit floats are multiplied and added as floats.
#pragma once

#include <cstdint>

#include "kernels/convert.h"

namespace dygraph::kernels {

template <class T>
void MatMul(bool ta, bool tb, int64_t m, int64_t n, int64_t k, Wide<T> alpha, const T* a,
            int64_t lda, const T* b, int64_t ldb, Wide<T> beta, T* c, int64_t ldc);

// c[i] = alpha op(a[i]) op(b[i]) + beta c[i] for `count` matrices, whose starts are so many
// elements apart; 0: one matrix for all. C is T, or float where T has 16 bits.
template <class T, class C>
void MatMulStack(bool ta, bool tb, int64_t m, int64_t n, int64_t k, Wide<T> alpha, const T* a,
                 int64_t lda, int64_t a_apart, const T* b, int64_t ldb, int64_t b_apart,
                 Wide<T> beta, C* c, int64_t ldc, int64_t c_apart, int64_t count);

// c [m, n] = a b + bias in one pass; false where cuBLASLt has no algorithm for it.
template <class T>
bool MatMulBias(int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* b, int64_t ldb,
                const T* bias, T* c, int64_t ldc);

}  // namespace dygraph::kernels

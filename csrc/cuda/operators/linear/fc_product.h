// operators/linear/fc_product.h on the device: a bias is added by cuBLASLt where nothing follows,
// else with what follows. (Its relu says nothing of NaN, which must pass.)
#pragma once

#include "kernels/matmul.h"
#include "kernels/pairs.h"
#include "op/kept_form.h"
#include "tensor/tensor.h"

namespace dygraph::fc {

struct Sizes {
  int64_t m, n, k;
};
template <class T>
struct Ending {
  const T* bias;
  bool relu;
};

template <class T>
void Product(const Sizes& s, const T* x, const Tensor& w, KeptForm*, const Ending<T>& ending,
             T* y) {
  const T *matrix = w.data<T>(), *bias = ending.bias;
  const int64_t ld = w.dim(1), n = s.n;
  const bool relu = ending.relu;
  if (bias && !relu && kernels::MatMulBias(s.m, n, s.k, x, s.k, matrix, ld, bias, y, n)) return;
  kernels::MatMul<T>(false, false, s.m, n, s.k, T(1), x, s.k, matrix, ld, T(0), y, n);
  if (!bias && !relu) return;
  kernels::ForEachPair(s.m, n, [=] DYGRAPH_FN(int64_t i, int64_t j) {
    kernels::Wide<T> v = y[i * n + j];
    if (bias) v += bias[j];
    y[i * n + j] = relu && v <= 0 ? 0 : v;
  });
}

}  // namespace dygraph::fc

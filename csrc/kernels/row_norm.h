// Normalisation of rows: every row loses its mean and is divided by its deviation, then each
// element is scaled and shifted by the numbers of its parameter. Layer, group, instance and
// root-mean-square normalisation are this with different rows.
#pragma once

#include <cstdint>

namespace dygraph::kernels {

// rows x n numbers. Row r uses parameters (r % groups) * n / inner onwards, each for `inner`
// elements side by side.
struct RowNormShape {
  int64_t rows, n, groups, inner;
  bool centered = true;  // false: the mean stays, the deviation is the root of the mean square
  int64_t per_row() const { return n / inner; }
  int64_t params() const { return groups * per_row(); }
};

// y = (x - mean) * inverse * scale + bias, inverse = 1 / sqrt(variance + epsilon). mean and
// variance, one a row, are written where they are not null.
template <class T>
void RowNorm(const T* x, const T* scale, const T* bias, const RowNormShape& s, double epsilon, T* y,
             T* mean, T* variance);

// The mean (0 where rows are not centered) and variance alone.
template <class T>
void RowMoments(const T* x, const RowNormShape& s, T* mean, T* variance);

// With h = g * scale and u = (x - mean) * inverse: dx = inverse * (h - mean(h) - u mean(h u)),
// dscale = sum(g u), dbias = sum(g). Outputs may be null.
template <class T>
void RowNormGrad(const T* x, const T* g, const T* scale, const T* mean, const T* inverse,
                 const RowNormShape& s, T* dx, T* dscale, T* dbias);

// The gradients of sum(dx v) + sum(dscale v_scale) + sum(dbias v_bias). v, v_scale, v_bias and
// outputs may be null.
template <class T>
struct RowNormGradGradArgs {
  const T *x, *g, *scale, *mean, *inverse, *v, *v_scale, *v_bias;
  T *to_x, *to_scale, *to_g;
};
template <class T>
void RowNormGradGrad(const RowNormGradGradArgs<T>& a, const RowNormShape& s);

}  // namespace dygraph::kernels

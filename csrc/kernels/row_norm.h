// Normalisation of rows: every row loses its mean and is divided by its deviation, then each
// element is scaled and shifted by the numbers of its parameter. Layer, group, instance and
// root-mean-square normalisation are this with different rows.
#pragma once

#include "kernels/row_norm_shape.h"

namespace dygraph::kernels {

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
void RowNormGradGrad(const RowNormGradGradArgs<T>& a, const RowNormShape& s);

}  // namespace dygraph::kernels

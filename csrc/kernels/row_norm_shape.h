// The rows that kernels/row_norm.h normalises, and what it reads and writes in the second gradient.
#pragma once

#include <cstdint>

#include "kernels/simd.h"

namespace dygraph::kernels {

// rows x n numbers. Row r uses parameters (r % groups) * n / inner onwards, each for `inner`
// elements side by side.
struct RowNormShape {
  int64_t rows, n, groups, inner;
  bool centered = true;  // false: the mean stays, the deviation is the root of the mean square
  DYGRAPH_INLINE int64_t per_row() const { return n / inner; }
  DYGRAPH_INLINE int64_t params() const { return groups * per_row(); }
};

// Any of v, v_scale, v_bias and the outputs may be null.
template <class T>
struct RowNormGradGradArgs {
  const T *x, *g, *scale, *mean, *inverse, *v, *v_scale, *v_bias;
  T *to_x, *to_scale, *to_g;
};

}  // namespace dygraph::kernels

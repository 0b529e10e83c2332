// Copies between two strided views of one shape: slices, pieces of a concatenation, broadcast
// values.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/span.h"

namespace dygraph::kernels {

// y[sum i_k y_strides_k] = x[sum i_k x_strides_k] for every i within dims; strides count elements
// of 1, 2, 4 or 8 bytes and may be negative, those of x also 0. The views must not overlap.
void CopyStrided(Span<const int64_t> dims, const void* x, Span<const int64_t> x_strides, void* y,
                 Span<const int64_t> y_strides, size_t element_size);

// A matrix of `rows` rows of `width` elements, from and to rows that lie x_step and y_step elements
// apart.
void CopyRows(int64_t rows, int64_t width, const void* x, int64_t x_step, void* y, int64_t y_step,
              size_t element_size);

}  // namespace dygraph::kernels

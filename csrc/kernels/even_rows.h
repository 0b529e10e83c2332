// Copies of many rows that lie evenly apart, of elements of 1, 2, 4 or 8 bytes: T is uint8_t to
// uint64_t.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/strides.h"

namespace dygraph::kernels {

// y[r * ys + i] = x[r * xs + i] for r < rows, i < n. Rows of a few cache lines are moved in place
// of calls of memcpy, which cost more; so are longer ones whose ends lie differently in their cache
// lines, for which memcpy takes twice as long on some processors.
template <class T>
void CopyEvenRows(const T* x, int64_t xs, T* y, int64_t ys, int64_t rows, int64_t n);

// The same for all rows of a walk of two arrays, whose innermost dimension is dense in both and has
// `n` elements; there are others.
template <class T>
void CopyDenseRows(const Walk<2>& walk, const T* x, T* y);

}  // namespace dygraph::kernels

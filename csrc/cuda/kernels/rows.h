// kernels/rows.h on the device. Rows may repeat.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dygraph::kernels {

// An array [outer, height, width] whose rows of `width` elements are numbered along height.
struct RowShape {
  int64_t outer = 1, height = 0, width = 1;
};

// out[o, i, :] = x[o, rows[i], :]; out is [outer, n, width].
void TakeRows(const RowShape& shape, const void* x, const int64_t* rows, int64_t n, void* out,
              size_t element_size);
// x[o, rows[i], :] = values[o, i, :]; of a row that repeats the last one stays.
void PutRows(const RowShape& shape, void* x, const int64_t* rows, int64_t n, const void* values,
             size_t element_size);
// x[o, rows[i], :] = 0.
void ClearRows(const RowShape& shape, void* x, const int64_t* rows, int64_t n, size_t element_size);

// x[o, rows[i], :] += values[o, i, :], integers modulo their range. Of one row in order of i: the
// rows are sorted; with FLAGS_cuda_atomics in any order, which is faster and not repeatable.
template <class T>
void AddRows(const RowShape& shape, T* x, const int64_t* rows, int64_t n, const T* values);

}  // namespace dygraph::kernels

// Rows of an array by number: taken, written and added. Rows may repeat; what happens to one row
// happens in the order of the list, on one thread, so results do not depend on the threads.
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
// x[o, rows[i], :] += values[o, i, :], integers modulo their range.
template <class T>
void AddRows(const RowShape& shape, T* x, const int64_t* rows, int64_t n, const T* values);

extern template void AddRows(const RowShape&, float*, const int64_t*, int64_t, const float*);
extern template void AddRows(const RowShape&, double*, const int64_t*, int64_t, const double*);
extern template void AddRows(const RowShape&, int32_t*, const int64_t*, int64_t, const int32_t*);
extern template void AddRows(const RowShape&, int64_t*, const int64_t*, int64_t, const int64_t*);

}  // namespace dygraph::kernels

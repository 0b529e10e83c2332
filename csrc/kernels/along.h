// Single elements by their number along one axis: taken, put and added. Numbers may repeat; what
// happens to one element happens in the order of the index, on one thread, so results do not depend
// on the threads.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dygraph::kernels {

// An array [outer, height, inner] and an index [outer, count, inner] of numbers along height.
// Negative ones count from the end.
struct AlongShape {
  int64_t outer = 1, height = 0, inner = 1, count = 0;
};

// Position of the first number outside [-height, height), n where there is none.
template <class I>
int64_t FirstOutside(const I* index, int64_t n, int64_t height);

// The following check each number before they use it. They return false where one lies outside;
// what is in `out` then is of no use.

// out[o, j, k] = x[o, index[o, j, k], k]; out has the shape of index.
template <class I>
bool TakeAlong(const AlongShape& shape, const void* x, const I* index, void* out,
               size_t element_size);
// out = start, or 0 where that is null; then out[o, index[o, j, k], k] = values[o, j, k], or 0
// where that is null; of an element that repeats the last value stays.
template <class I>
bool PutAlong(const AlongShape& shape, const void* start, const I* index, const void* values,
              void* out, size_t element_size);
// out = start, or 0 where that is null; then out[o, index[o, j, k], k] += values[o, j, k], integers
// modulo their range.
template <class T, class I>
bool AddAlong(const AlongShape& shape, const T* start, const I* index, const T* values, T* out);

}  // namespace dygraph::kernels

// operators/reduce/extremum_search.h on the device.
#pragma once

#include "kernels/reduce.h"

namespace dygraph::arg_extremum {

// Along the middle axis of [rows, n, inner]. A NaN wins over all, the first of equals over the others.
template <bool kMax, class T, class Index>
void Search(const T* from, int64_t rows, int64_t n, int64_t inner, Index* to) {
  kernels::ArgReduce<kMax>(from, rows, n, inner, to);
}

}  // namespace dygraph::arg_extremum

// The length of a vector, however long it is.
#pragma once

#include <cstdint>

#include "operators/optimizer/optimizer_loops.h"

namespace dygraph::reduce {

// put(the root of the sum of squares of n elements).
template <class T, class P>
void WithLength(const T* x, int64_t n, P put) {
  put(optimizer::Norm(x, n));
}

}  // namespace dygraph::reduce

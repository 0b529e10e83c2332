// operators/random/weights.h on the device.
#pragma once

#include <limits>

#include "kernels/value_check.h"

namespace dygraph::random {

// Each of n elements must lie in [0, most]; a NaN does not. `text` says so, as of CheckEach.
template <class T>
void RequireWithin(const T* x, int64_t n, T most, const char* text) {
  kernels::CheckEach(x, n, [most] DYGRAPH_FN(T v) { return v >= T(0) && v <= most; }, text);
}

}  // namespace dygraph::random

// bernoulli, multinomial and poisson: what they draw by lies between bounds.
#pragma once

#include <limits>

#include "kernels/value_check.h"

namespace dygraph::random {

// Each of n elements must lie in [0, most]; a NaN does not. `text` says so, as of CheckEach.
template <class T>
void RequireWithin(const T* x, int64_t n, T most, const char* text) {
  bool all = true;
  for (int64_t i = 0; i < n; ++i) all &= x[i] >= T(0) && x[i] <= most;
  if (all) return;
  kernels::CheckEach(x, n, [most](T v) { return v >= T(0) && v <= most; }, text);
}

}  // namespace dygraph::random

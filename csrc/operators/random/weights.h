// bernoulli, multinomial and poisson: what they draw by lies between bounds.
#pragma once

#include <limits>

#include "op/op_registry.h"

namespace dygraph::random {

// Each of n elements of X must lie in [0, most]; a NaN does not.
template <class T>
void RequireWithin(const T* x, int64_t n, T most, const char* rule) {
  bool all = true;
  for (int64_t i = 0; i < n; ++i) all &= x[i] >= T(0) && x[i] <= most;
  for (int64_t i = 0; !all && i < n; ++i) {
    ENFORCE(x[i] >= T(0) && x[i] <= most, InvalidArgument, "X must ", rule, ", got ", x[i],
            " at position ", i);
  }
}

}  // namespace dygraph::random

// The places of affine_grid along an axis.
#pragma once

#include <cstdint>

#include "kernels/simd.h"

namespace dygraph::affine {

// Where step i of n lies: from -1 to 1.
DYGRAPH_INLINE double PlaceOf(int64_t i, int64_t n, bool corners) {
  const double d = static_cast<double>(n);
  if (!corners) return static_cast<double>(2 * i + 1) / d - 1;
  return n == 1 ? 0.0 : -1.0 + 2.0 * static_cast<double>(i) / (d - 1);
}

}  // namespace dygraph::affine

// kernels/pool_window.h on the device: windows are found from their rule.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/pool_rule.h"

namespace dygraph::kernels {

struct PoolAxis : PoolRule {
  int64_t out() const { return outputs; }
  // Outputs [begin, end): all whose windows cover p are among them.
  DYGRAPH_INLINE PoolSpan Around(int64_t p) const {
    if (kernel == 0)
      return {p * outputs / in, std::min(((p + 1) * outputs + in - 1) / in, outputs), 0};
    const int64_t last = p + padding, before = last - kernel;
    return {before < 0 ? 0 : before / stride + 1, std::min(last / stride + 1, outputs), 0};
  }
};

inline PoolAxis SlidingWindows(int64_t in, int64_t out, int64_t kernel, int64_t stride,
                               int64_t padding, bool exclusive) {
  return {{in, out, kernel, stride, padding, exclusive}};
}
inline PoolAxis AdaptiveWindows(int64_t in, int64_t out) { return {{in, out}}; }

}  // namespace dygraph::kernels

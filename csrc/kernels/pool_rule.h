// Where the windows of a pooling lie along one axis.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/simd.h"

namespace dygraph::kernels {

// What a window covers, [begin, end), and what an average over it divides by.
struct PoolSpan {
  int64_t begin, end, size;
};

struct PoolRule {
  int64_t in = 0, outputs = 0;
  int64_t kernel = 0, stride = 1, padding = 0;  // kernel 0: windows share the axis out evenly
  bool exclusive = true;                        // an average does not count the padding

  DYGRAPH_INLINE PoolSpan At(int64_t o) const {
    PoolSpan s;
    if (kernel == 0) {
      s.begin = o * in / outputs;
      s.end = ((o + 1) * in + outputs - 1) / outputs;
      s.size = std::max<int64_t>(s.end - s.begin, 1);
      return s;
    }
    s.begin = o * stride - padding;
    const int64_t end = std::min(s.begin + kernel, in);
    s.begin = std::min(std::max<int64_t>(s.begin, 0), in);
    s.end = std::max(s.begin, end);
    s.size = exclusive ? std::max<int64_t>(end - s.begin, 1) : kernel;
    return s;
  }
};

}  // namespace dygraph::kernels

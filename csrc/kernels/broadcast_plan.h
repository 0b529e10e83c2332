// How an operand of another shape lies over the shape of a result.
#pragma once

#include <cstdint>

#include "base/span.h"

namespace dygraph::kernels {

// Element strides of a dense operand of shape `in`, whose first dimension meets dimension `axis` of
// `out`, over the shape `out`; 0 where it is broadcast. Shapes were checked by the caller.
inline void BroadcastStrides(Span<const int64_t> in, Span<const int64_t> out, int64_t axis,
                             int64_t* strides) {
  for (size_t i = 0; i < out.size(); ++i) strides[i] = 0;
  int64_t stride = 1;
  for (int64_t i = static_cast<int64_t>(in.size()) - 1; i >= 0; --i) {
    if (in[i] != 1) strides[axis + i] = stride;
    stride *= in[i];
  }
}

}  // namespace dygraph::kernels

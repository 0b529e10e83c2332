// An array as kernels/batch_norm.h sees it.
#pragma once

#include <cstdint>

#include "kernels/simd.h"

namespace dygraph::kernels {

struct ChannelShape {
  int64_t outer, channels, inner;
  DYGRAPH_INLINE int64_t count() const { return outer * inner; }  // elements of a channel
  DYGRAPH_INLINE int64_t numel() const { return count() * channels; }
};

}  // namespace dygraph::kernels

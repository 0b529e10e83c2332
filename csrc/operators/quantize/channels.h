// X as [outer, channels, inner].
#pragma once

#include "op/op_registry.h"

namespace dygraph::quantize {

struct Channels {
  int64_t outer, count, inner;
  Channels(const Dims& x, int axis)
      : outer(Numel(x, 0, axis)), count(x[axis]), inner(Numel(x, axis + 1, x.rank())) {}
};

}  // namespace dygraph::quantize

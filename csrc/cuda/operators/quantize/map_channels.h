// operators/quantize/map_channels.h on the device.
#pragma once

#include "kernels/loops.h"
#include "operators/quantize/channels.h"

namespace dygraph::quantize {

// y = f(x, the scale of its channel).
template <class T, class F>
void MapChannels(const T* x, T* y, const Channels& c, const T* scales, F f) {
  const int64_t count = c.count, inner = c.inner;
  kernels::ForEach(c.outer * count * inner,
                   [=] DYGRAPH_FN(int64_t i) { y[i] = f(x[i], scales[i / inner % count]); });
}

}  // namespace dygraph::quantize

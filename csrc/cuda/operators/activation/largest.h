// operators/activation/largest.h on the device.
#pragma once

#include "kernels/loops.h"
#include "operators/activation/channel_groups.h"

namespace dygraph {

// f(position among the groups, position in v of the largest of the group) for every group.
template <class T, class F>
void ForLargest(ChannelGroups c, const T* v, F f) {
  kernels::ForEach(c.rows * c.inner,
                   [=] DYGRAPH_FN(int64_t i) { f(i, c.Largest(v, i / c.inner, i % c.inner)); });
}

}  // namespace dygraph

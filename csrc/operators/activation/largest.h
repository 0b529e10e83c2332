// The loop over groups of channels.
#pragma once

#include "kernels/parallel.h"
#include "operators/activation/channel_groups.h"

namespace dygraph {

// f(position among the groups, position in v of the largest of the group) for every group.
template <class T, class F>
void ForLargest(const ChannelGroups& c, const T* v, const F& f) {
  kernels::ParallelRows(c.rows, c.inner * c.groups, [=](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t i = 0; i < c.inner; ++i) f(row * c.inner + i, c.Largest(v, row, i));
    }
  });
}

}  // namespace dygraph

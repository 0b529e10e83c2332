// X as [rows, groups, inner]: of each group one channel is the largest.
#pragma once

#include "op/op_registry.h"

namespace dygraph {

struct ChannelGroups {
  int64_t rows, groups, inner;
  // The position of the largest of the group of element i of a row; the first NaN wins.
  template <class T>
  DYGRAPH_INLINE int64_t Largest(const T* v, int64_t row, int64_t i) const {
    int64_t best = row * groups * inner + i;
    for (int64_t k = 1; k < groups; ++k) {
      int64_t at = (row * groups + k) * inner + i;
      if (v[best] == v[best] && !(v[at] <= v[best])) best = at;
    }
    return best;
  }
};

}  // namespace dygraph

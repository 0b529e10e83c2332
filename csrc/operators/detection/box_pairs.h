// Loops over pairs, such as two lists of boxes.
#pragma once

#include <cstdint>

#include "kernels/parallel.h"

namespace dygraph::boxes {

// f(i, j) for every i in [0, n) and j in [0, m), in any order; `cost` is that of one pair.
template <class F>
void ForEachPair(int64_t n, int64_t m, F f, int64_t cost) {
  kernels::ParallelRows(n, m * cost, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t j = 0; j < m; ++j) f(i, j);
    }
  });
}

}  // namespace dygraph::boxes

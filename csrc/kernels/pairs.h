// Loops over the elements of rows, each by its row and its place in it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/parallel.h"

namespace dygraph::kernels {

// f(r, i) for every r in [0, rows) and i in [0, n), in any order. `cost` as for Grain.
template <class F>
void ForEachPair(int64_t rows, int64_t n, F f, int64_t cost = 1) {
  ParallelRows(rows, std::max<int64_t>(n * cost, 1), [=](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      for (int64_t i = 0; i < n; ++i) f(r, i);
    }
  });
}

}  // namespace dygraph::kernels

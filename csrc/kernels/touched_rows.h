// Rows of a matrix that are named by number, possibly repeatedly.
#pragma once

#include <cstdint>

#include "kernels/parallel.h"
#include "kernels/simd.h"
#include "platform/device_context.h"

namespace dygraph::kernels {

// f(rows[i], i, k) for 0 <= i < count and 0 <= k < width. Calls of one row come in the order of i,
// so f may add to what it wrote; others run in any order. `rows` is memory of the host.
template <class T, class F>
void ForEachTouched(const int64_t* rows, int64_t count, int64_t width, F f) {
  const int64_t pieces = count * width <= Grain() ? 1 : NumThreads();
  ParallelBlocks(pieces, [=](int64_t piece) {
    SimdFor<T>([=] {
      for (int64_t i = 0; i < count; ++i) {
        const int64_t row = rows[i];
        if (pieces > 1 && row % pieces != piece) continue;
        DYGRAPH_IVDEP
        for (int64_t k = 0; k < width; ++k) f(row, i, k);
      }
    });
  });
}

}  // namespace dygraph::kernels

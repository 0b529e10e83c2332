// Rows of one array that each belong to the same row of one of several candidates.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/elementwise.h"
#include "operators/arguments.h"

namespace dygraph {

// Calls f(i, candidate) for each row i, whose candidate stands in input `slot`.
template <class F>
void ForEachRow(KernelContext& ctx, int slot, size_t candidates, int64_t rows, F f) {
  VisitIndices(ctx.In(slot), "Ids", [&](auto* id) {
    const auto count = static_cast<int64_t>(candidates);
    for (int64_t i = 0; i < rows; ++i) {
      ENFORCE(id[i] >= 0 && id[i] < count, OutOfRange, "the numbers in Ids must lie in [0, ", count,
              "), the number of X, got ", id[i], " at position ", i);
    }
    for (int64_t i = 0; i < rows; ++i) f(i, static_cast<size_t>(id[i]));
  });
}

// Row i of `to`, of `numel` elements, = row i of from[ids[i]], zeros where that is null.
template <class T>
void ChooseRows(KernelContext& ctx, int slot, const std::vector<const T*>& from, int64_t rows,
                int64_t numel, T* to) {
  const int64_t width = rows > 0 ? numel / rows : 0;
  ForEachRow(ctx, slot, from.size(), rows, [&](int64_t i, size_t id) {
    if (from[id]) {
      std::copy_n(from[id] + i * width, width, to + i * width);
    } else {
      std::fill_n(to + i * width, width, T(0));
    }
  });
}

// Row i of to[ids[i]], where that is not null, = row i of `from`.
template <class T>
void DealRows(KernelContext& ctx, int slot, const T* from, int64_t rows, int64_t numel,
              const std::vector<T*>& to) {
  const int64_t width = rows > 0 ? numel / rows : 0;
  ForEachRow(ctx, slot, to.size(), rows, [&](int64_t i, size_t id) {
    if (to[id]) std::copy_n(from + i * width, width, to[id] + i * width);
  });
}

}  // namespace dygraph

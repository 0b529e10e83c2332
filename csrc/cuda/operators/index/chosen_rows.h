// operators/index/chosen_rows.h on the device: a loop for each candidate, which takes its rows.
#pragma once

#include <vector>

#include "kernels/elementwise.h"
#include "kernels/loops.h"
#include "op/index_guard.h"
#include "operators/arguments.h"

namespace dygraph {

// to[i] = from[i], or 0 where `from` is null, in the rows of one candidate.
template <class T, class I>
struct CopyRowsOf {
  const I* ids;
  IndexGuard guard;
  int64_t candidate, width;
  const T* from;
  T* to;
  DYGRAPH_INLINE void operator()(int64_t i) const {
    if (guard(ids[i / width]) == candidate) to[i] = from ? from[i] : T(0);
  }
};

template <class T>
void CopyRows(KernelContext& ctx, int slot, size_t candidate, const IndexGuard& guard, int64_t rows,
              int64_t numel, const T* from, T* to) {
  VisitIndices(ctx.In(slot), "Ids", [&](auto* ids) {
    using I = std::remove_const_t<std::remove_pointer_t<decltype(ids)>>;
    kernels::ForEach(numel, CopyRowsOf<T, I>{ids, guard, static_cast<int64_t>(candidate),
                                             numel / rows, from, to});
  });
}

// Row i of `to`, of `numel` elements, = row i of from[ids[i]], zeros where that is null.
template <class T>
void ChooseRows(KernelContext& ctx, int slot, const std::vector<const T*>& from, int64_t rows,
                int64_t numel, T* to) {
  if (numel == 0) return;
  const IndexGuard guard(ctx, slot, static_cast<int64_t>(from.size()));
  for (size_t k = 0; k < from.size(); ++k) CopyRows(ctx, slot, k, guard, rows, numel, from[k], to);
}

// Row i of to[ids[i]], where that is not null, = row i of `from`.
template <class T>
void DealRows(KernelContext& ctx, int slot, const T* from, int64_t rows, int64_t numel,
              const std::vector<T*>& to) {
  if (numel == 0) return;
  const IndexGuard guard(ctx, slot, static_cast<int64_t>(to.size()));
  for (size_t k = 0; k < to.size(); ++k) {
    if (to[k]) CopyRows(ctx, slot, k, guard, rows, numel, from, to[k]);
  }
}

}  // namespace dygraph

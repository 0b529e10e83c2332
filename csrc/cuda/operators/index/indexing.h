// operators/index/indexing.h on the device: lists are made by loops, which keep the numbers within
// bounds and report others (op/index_guard.h).
#pragma once

#include <memory>

#include "cuda/scratch.h"
#include "kernels/broadcast_plan.h"
#include "kernels/elementwise.h"
#include "kernels/loops.h"
#include "kernels/rows.h"
#include "kernels/walk.h"
#include "op/index_guard.h"
#include "operators/arguments.h"
#include "operators/clear.h"

namespace dygraph::indexing {

// Indices in [0, bound), in memory of the device.
struct IndexList {
  const int64_t* data = nullptr;
  int64_t size = 0;
  std::unique_ptr<cuda::Workspace<int64_t>> memory;

  explicit IndexList(int64_t n) : size(n), memory(std::make_unique<cuda::Workspace<int64_t>>(n)) {
    data = memory->data();
  }
};

template <class I>
struct GuardEach {
  const I* from;
  int64_t* to;
  IndexGuard guard;
  DYGRAPH_INLINE void operator()(int64_t i) const { to[i] = guard(from[i]); }
};

// The indices of input `slot` into an axis of size `bound`; with `from_end`, negative ones count
// from the end as in NumPy.
inline IndexList CheckedIndices(KernelContext& ctx, int slot, int64_t bound, const char* /*what*/,
                                bool from_end = true) {
  const Tensor& t = ctx.In(slot);
  IndexList list(t.numel());
  VisitIndices(t, ctx.call().op->inputs[slot].name.c_str(), [&](auto* from) {
    using I = std::remove_const_t<std::remove_pointer_t<decltype(from)>>;
    kernels::ForEach(
        list.size, GuardEach<I>{from, list.memory->data(), IndexGuard(ctx, slot, bound, from_end)});
  });
  return list;
}

// The numbers for one axis join those of the axes before it.
template <class I>
struct JoinAxis {
  const I* from;
  kernels::detail::Steps<1> walk;
  int64_t* to;
  int64_t bound;
  bool first;
  IndexGuard guard;
  DYGRAPH_INLINE void operator()(int64_t i) const {
    to[i] = (first ? 0 : to[i] * bound) + guard(from[walk.At(i).of[0]]);
  }
};
inline void Join(KernelContext& ctx, int slot, const void* from, DType dtype,
                 const kernels::Walk<1>& walk, int axis, const Dims& x, IndexList* list) {
  const IndexGuard guard(ctx, slot, x[axis], true);
  auto run = [&](auto zero) {
    using I = decltype(zero);
    kernels::ForEach(list->size,
                     JoinAxis<I>{static_cast<const I*>(from), kernels::detail::Steps<1>(walk),
                                 list->memory->data(), x[axis], axis == 0, guard});
  };
  dtype == DType::kInt32 ? run(int32_t()) : run(int64_t());
}

// Row numbers that the input `slot`, an index [..., k], gives in x seen as [its first k axes as
// one, the rest]: each k numbers address one row.
inline IndexList FlatIndices(KernelContext& ctx, int slot, const Dims& x, const char* /*x_name*/) {
  const Tensor& index = ctx.In(slot);
  const int64_t k = index.dims()[index.rank() - 1];
  IndexList list(k == 0 ? Numel(index.dims(), 0, index.rank() - 1) : index.numel() / k);
  if (k == 0) kernels::Fill(list.memory->data(), list.size, int64_t{0});
  VisitIndices(index, ctx.call().op->inputs[slot].name.c_str(), [&](auto* from) {
    kernels::Walk<1> walk;
    walk.Push(list.size, {k});
    for (int a = 0; a < k && list.size > 0; ++a)
      Join(ctx, slot, from + a, index.dtype(), walk, a, x, &list);
  });
  return list;
}

// Row numbers that the index arrays of input `slot`, repeated to the shape `common`, give together
// in x seen as [the axes that they address as one, the rest].
inline IndexList JoinedIndices(KernelContext& ctx, int slot, const Dims& common, const Dims& x) {
  IndexList list(Numel(common));
  if (list.size == 0) return list;
  for (int a = 0; a < ctx.InputCount(slot); ++a) {
    const Tensor& index = ctx.In(slot, a);
    Dims strides(common.rank(), 0);
    kernels::BroadcastStrides(index.dims(), common, common.rank() - index.rank(), strides.data());
    kernels::Walk<1> walk;
    for (int i = 0; i < common.rank(); ++i) walk.Push(common[i], {strides[i]});
    Join(ctx, slot, index.raw_data(), index.dtype(), walk, a, x, &list);
  }
  return list;
}

struct NoteLastWriter {
  const int64_t* rows;
  int32_t* last;
  __device__ void operator()(int64_t i) const {
    atomicMax(last + rows[i], static_cast<int32_t>(i));
  }
};
struct ClearOverwritten {
  const int64_t* rows;
  const int32_t* last;
  int64_t bytes;
  uint8_t* values;
  DYGRAPH_INLINE void operator()(int64_t i) const {
    const int64_t item = i / bytes;
    if (last[rows[item]] != static_cast<int32_t>(item)) values[i] = 0;
  }
};

// values[i, :] = g[rows[i], :], the gradient of writing values to these rows; 0 for those that were
// overwritten where the last one wins.
inline void TakeWritten(const kernels::RowShape& shape, const Tensor& g, const int64_t* rows,
                        int64_t n, bool last_wins, Tensor* values) {
  const size_t size = SizeOf(g.dtype());
  kernels::TakeRows(shape, g.raw_data(), rows, n, values->mutable_raw_data(), size);
  if (!last_wins || n == 0) return;
  cuda::Workspace<int32_t> last(shape.height);
  kernels::Fill(last.data(), shape.height, -1);
  kernels::ForEach(n, NoteLastWriter{rows, last.data()});
  const int64_t bytes = shape.width * static_cast<int64_t>(size);
  kernels::ForEach(n * bytes, ClearOverwritten{rows, last.data(), bytes,
                                               static_cast<uint8_t*>(values->mutable_raw_data())});
}

}  // namespace dygraph::indexing

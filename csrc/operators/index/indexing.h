// What operators that address rows or elements by number share: checked indices as int64, and the
// element positions they stand for.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "kernels/broadcast_plan.h"
#include "kernels/parallel.h"
#include "kernels/rows.h"
#include "kernels/strides.h"
#include "operators/arguments.h"
#include "operators/clear.h"
#include "operators/index/host_indices.h"

namespace dygraph::indexing {

using IndexList = HostIndices;

// The indices of input `slot` into an axis of size `bound`, as ReadIndices gives them.
inline IndexList CheckedIndices(KernelContext& ctx, int slot, int64_t bound, const char* what,
                                bool from_end = true) {
  return ReadIndices(ctx.In(slot), ctx.call().op->inputs[slot].name.c_str(), bound, what, from_end);
}

// Row numbers that the input `slot`, an index [..., k], gives in x seen as [its first k axes as
// one, the rest]: each k numbers address one row.
inline IndexList FlatIndices(KernelContext& ctx, int slot_number, const Dims& x,
                             const char* x_name) {
  const Tensor& index = ctx.In(slot_number);
  const char* slot = ctx.call().op->inputs[slot_number].name.c_str();
  int64_t k = index.dims()[index.rank() - 1];
  IndexList list;
  list.size = k == 0 ? Numel(index.dims(), 0, index.rank() - 1) : index.numel() / k;
  list.copy.assign(list.size, 0);
  std::atomic<bool> inside{true};
  VisitIndices(index, slot, [&](auto* v) {
    int64_t* to = list.copy.data();
    const int64_t* bounds = x.data();
    ParallelFor(list.size, kernels::Grain(4 * std::max<int64_t>(k, 1)),
                [=, &inside](int64_t begin, int64_t end) {
                  bool all = true;
                  for (int64_t i = begin; i < end; ++i) {
                    uint64_t flat = 0;  // wraps where a number lies outside
                    for (int64_t a = 0; a < k; ++a) {
                      const int64_t at = v[i * k + a], bound = bounds[a];
                      all &= at >= -bound && at < bound;
                      flat = flat * bound + static_cast<uint64_t>(at < 0 ? at + bound : at);
                    }
                    to[i] = static_cast<int64_t>(flat);
                  }
                  if (!all) inside = false;
                });
    if (inside) return;
    for (int64_t i = 0; i < list.size; ++i) {
      for (int64_t a = 0; a < k; ++a) {
        const int64_t at = v[i * k + a], bound = x[a];
        ENFORCE(at >= -bound && at < bound, OutOfRange, slot, " must lie in [", -bound, ", ", bound,
                ") in column ", a, ", the size of axis ", a, " of ", x_name, " ", x, ", got ", at,
                " in row ", i);
      }
    }
  });
  list.data = list.copy.data();
  return list;
}

// Row numbers that the index arrays of input `slot`, repeated to the shape `common`, give together
// in x seen as [the axes that they address as one, the rest].
inline IndexList JoinedIndices(KernelContext& ctx, int slot, const Dims& common, const Dims& x) {
  const Call& call = ctx.call();
  IndexList list;
  list.size = Numel(common);
  list.copy.assign(list.size, 0);
  list.data = list.copy.data();
  for (int a = 0; a < call.in.count(slot); ++a) {
    const Tensor& index = ctx.In(slot, a);
    Dims strides(common.rank(), 0);
    kernels::BroadcastStrides(index.dims(), common, common.rank() - index.rank(), strides.data());
    kernels::Walk<1> walk;
    for (int i = 0; i < common.rank(); ++i) walk.Push(common[i], {strides[i]});
    VisitIndices(index, "indices", [&](auto* v) {
      kernels::Odometer<1> at(walk, walk.rank, 0);
      for (int64_t& flat : list.copy) {
        int64_t i = v[at.offset[0]];
        ENFORCE(i >= -x[a] && i < x[a], OutOfRange, "index ", i, " is out of range for axis ", a,
                " of size ", x[a], " of x ", x);
        flat = flat * x[a] + (i < 0 ? i + x[a] : i);
        at.Next();
      }
    });
  }
  return list;
}

// Of rows written in order, those that are written again later: their values are lost.
inline std::vector<bool> Overwritten(const int64_t* rows, int64_t n, int64_t height) {
  std::vector<bool> seen(height), lost(n);
  for (int64_t i = n - 1; i >= 0; --i) {
    lost[i] = seen[rows[i]];
    seen[rows[i]] = true;
  }
  return lost;
}

// values[i, :] = g[rows[i], :], the gradient of writing values to these rows; 0 for those that were
// overwritten where the last one wins.
inline void TakeWritten(const kernels::RowShape& shape, const Tensor& g, const int64_t* rows,
                        int64_t n, bool last_wins, Tensor* values) {
  size_t size = SizeOf(g.dtype());
  kernels::TakeRows(shape, g.raw_data(), rows, n, values->mutable_raw_data(), size);
  if (!last_wins) return;
  std::vector<bool> lost = Overwritten(rows, n, shape.height);
  int64_t bytes = shape.width * static_cast<int64_t>(size);
  for (int64_t i = 0; i < n; ++i) {
    if (lost[i]) std::memset(static_cast<char*>(values->mutable_raw_data()) + i * bytes, 0, bytes);
  }
}

}  // namespace dygraph::indexing

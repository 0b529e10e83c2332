// Elements of an axis by their places in it: the way back from sorting and choosing.
#pragma once

#include "kernels/add_at.h"
#include "kernels/elementwise.h"
#include "op/index_guard.h"
#include "operators/reduce/order_key.h"

namespace dygraph::sorting {

// Calls f(place in the picked ones, place in x) for all that input `slot` picked, k on each of the
// lines along the axis of a tensor of shape `x`. Places may repeat.
template <class F>
void ForPicked(const KernelContext& ctx, int slot, const Lines& lines, int64_t k, F f) {
  const Tensor& indices = ctx.In(slot);
  const int64_t* list = indices.data<int64_t>();
  CheckEach(indices.numel(), [=](int64_t i) {
    ENFORCE(list[i] >= 0 && list[i] < lines.n, OutOfRange, "Indices must lie in [0, ", lines.n,
            "), the size of X along the axis, got ", list[i], " at position ", i);
  });
  if (k == 0) return;  // there may be any number of empty lines
  const IndexGuard guard(ctx, slot, lines.n);
  const Lines all = lines;
  kernels::ForEachAdding(lines.count(), k, [=] DYGRAPH_FN(int64_t line, int64_t j) {
    const int64_t i = all.Begin(line, k) + j * all.inner;
    f(i, all.Begin(line, all.n) + guard(list[i]) * all.inner);
  });
}

// For Indices with as many axes as X.
template <class F>
void ForEachPicked(const KernelContext& ctx, int slot, const Dims& x, int64_t axis, F f) {
  const Lines lines(x, axis);
  const Tensor& indices = ctx.In(slot);
  ENFORCE(indices.rank() == x.rank(), InvalidArgument, "Indices must have as many axes as X ", x,
          ", got shape ", indices.dims());
  const int64_t k = x.empty() ? 1 : indices.dims()[NormalizeAxis(axis, x.rank())];
  ENFORCE(indices.numel() == lines.count() * k, InvalidArgument,
          "Indices must have the sizes of X ", x, " but along the axis, got shape ",
          indices.dims());
  ForPicked(ctx, slot, lines, k, f);
}

}  // namespace dygraph::sorting

// operators/optimizer/optimizer_loops.h on the device.
#pragma once

#include "cuda/scratch.h"
#include "kernels/elementwise.h"
#include "kernels/loops.h"
#include "kernels/touched_rows.h"
#include "op/op_registry.h"

namespace dygraph::optimizer {

int64_t RowWidth(const Tensor& param);

// f(i) for each of n elements.
template <class T, class F>
void EachElement(const KernelContext&, int64_t n, int64_t, F f) {
  kernels::ForEach(n, f);
}

// f(i, the gradient of element i) for every element of Param. Rows that a gradient of selected rows
// leaves out have gradient 0.
template <class T, class F>
void ForEachElement(KernelContext& ctx, int param_slot, int grad_slot, F f, bool = false) {
  const Tensor& param = ctx.In(param_slot);
  const int64_t n = param.numel();
  if (!ctx.IsRows(grad_slot)) {
    const T* g = ctx.In(grad_slot).data<T>();
    return kernels::ForEach(n, [=] DYGRAPH_FN(int64_t i) { f(i, g[i]); });
  }
  const SelectedRows& rows = ctx.InRows(grad_slot);
  const int64_t width = RowWidth(param), count = static_cast<int64_t>(rows.rows().size());
  cuda::Workspace<T> dense(n);
  T* sums = dense.data();
  kernels::Fill(sums, n, T(0));
  if (count > 0) {
    const T* v = rows.value().data<T>();
    kernels::ForEachTouched<T>(rows.rows().data(), count, width,
                               [=] DYGRAPH_FN(int64_t row, int64_t i, int64_t k) {
                                 sums[row * width + k] += v[i * width + k];
                               });
  }
  kernels::ForEach(n, [=] DYGRAPH_FN(int64_t i) { f(i, sums[i]); });
}

}  // namespace dygraph::optimizer

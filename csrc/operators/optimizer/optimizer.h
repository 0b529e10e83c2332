// What optimizer operators share: checks made before anything is written, loops over a parameter
// and its gradient.
#pragma once

#include <cmath>
#include <cstring>
#include <initializer_list>
#include <utility>
#include <vector>

#include "kernels/elementwise.h"
#include "op/op_registry.h"
#include "op/rows_flag.h"
#include "platform/loop_queue.h"

namespace dygraph::optimizer {

// A tensor the step reads and writes beside the parameter, or its gradient (dense or selected
// rows): shape and type of Param.
void CheckLikeParam(const InferContext& ctx, int param, int slot, const char* name);

bool IsScalar(const Dims& d);  // [1] or []
// A number in a tensor of shape [1] or [], of float32 or Param's type.
void CheckScalar(const InferContext& ctx, int param, int slot, const char* name);

// The shape rule most steps share: the gradient and the states are like Param, the outputs like
// their inputs. `kept` pairs input and output slots, Param's first.
void InferStep(InferContext& ctx, int param, int grad,
               std::initializer_list<std::pair<int, int>> kept, std::initializer_list<int> scalars);

// A power of beta, or another number that goes from step to step.
void InferNumber(InferContext& ctx, int in, int out);
void StoreNumber(Tensor* out, double value);

// Elements of one row of a parameter whose gradient is selected rows.
int64_t RowWidth(const Tensor& param);

// Calls f(row of Param, row of the gradient, or nullptr where it has none) for every row, in
// parallel. `g` is merged: its rows are ascending and distinct.
template <class T, class F>
void ForEachRow(int64_t rows, int64_t width, const SelectedRows& g, F f) {
  const std::vector<int64_t>& list = g.rows();
  const T* values = list.empty() ? nullptr : g.value().data<T>();
  kernels::ParallelRows(rows, width * 4, [&](int64_t begin, int64_t end) {
    size_t at = std::lower_bound(list.begin(), list.end(), begin) - list.begin();
    for (int64_t r = begin; r < end; ++r) {
      bool has = at < list.size() && list[at] == r;
      f(r, has ? values + static_cast<int64_t>(at) * width : nullptr);
      at += has;
    }
  });
}

// Calls f(row of Param, row of the gradient) for the rows that a merged gradient holds, in
// parallel.
template <class T, class F>
void ForTouchedRows(int64_t width, const SelectedRows& g, F f) {
  if (g.rows().empty()) return;
  const T* values = g.value().data<T>();
  const int64_t* rows = g.rows().data();
  kernels::ParallelRows(static_cast<int64_t>(g.rows().size()), width * 4,
                        [=](int64_t begin, int64_t end) {
                          for (int64_t i = begin; i < end; ++i) f(rows[i], values + i * width);
                        });
}

// What a step that touches few rows leaves as it is, where it does not write in place.
void CopyThrough(const Tensor& from, Tensor* to);

// body(begin, end) over n elements, in parallel: together with the loops of other parameters' steps
// where those wait for each other (platform/loop_queue.h), so a kernel may not read what this
// writes.
template <class Body>
void Elements(const KernelContext& ctx, int64_t n, int64_t cost, Body body) {
  if (LoopQueue* queue = ctx.call().queue) return queue->Add(n, cost, body);
  ParallelFor(n, kernels::Grain(cost), body);
}

// Calls f(i, the gradient of element i) for every element of Param, in parallel. Rows that a
// gradient of selected rows leaves out have gradient 0. Without `at_once` a dense gradient's loop
// may wait, as in Elements.
template <class T, class F>
void ForEachElement(KernelContext& ctx, int param_slot, int grad_slot, F f, bool at_once = false) {
  const Tensor& param = ctx.In(param_slot);
  if (!ctx.IsRows(grad_slot)) {
    const T* g = ctx.In(grad_slot).data<T>();
    auto body = [=](int64_t begin, int64_t end) {
      kernels::SimdFor<T>([=] {
        DYGRAPH_IVDEP
        for (int64_t i = begin; i < end; ++i) f(i, g[i]);
      });
    };
    constexpr int64_t kCost = 4;
    if (at_once) return ParallelFor(param.numel(), kernels::Grain(kCost), body);
    return Elements(ctx, param.numel(), kCost, body);
  }
  Ref<SelectedRows> merged = ctx.InRows(grad_slot).Merged();
  int64_t width = RowWidth(param);
  ForEachRow<T>(param.dim(0), width, *merged, [=](int64_t r, const T* g) {
    int64_t first = r * width;
    DYGRAPH_IVDEP
    for (int64_t k = 0; k < width; ++k) f(first + k, g ? g[k] : T(0));
  });
}

// v moved towards 0 by `low`, not beyond it: what an L1 penalty does.
template <class T>
DYGRAPH_INLINE T Shrunk(T v, T low) {
  T size = std::abs(v) - low;
  return low > 0 && size <= 0 ? T(0) : v > 0 ? size : -size;
}

// sqrt of the sum of squares, with the same bits for any number of threads.
template <class T>
double Norm(const T* x, int64_t n) {
  constexpr int64_t kBlock = 4096;
  int64_t blocks = (n + kBlock - 1) / kBlock;
  std::vector<double> parts(blocks);
  double* part = parts.data();
  ParallelFor(blocks, 8, [=](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      double lane[8] = {};
      int64_t i = b * kBlock, stop = std::min(n, i + kBlock);
      for (; i + 8 <= stop; i += 8) {
        for (int k = 0; k < 8; ++k) lane[k] += static_cast<double>(x[i + k]) * x[i + k];
      }
      for (; i < stop; ++i) lane[0] += static_cast<double>(x[i]) * x[i];
      part[b] =
          ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
    }
  });
  double total = 0;
  for (double p : parts) total += p;
  return std::sqrt(total);
}

}  // namespace dygraph::optimizer

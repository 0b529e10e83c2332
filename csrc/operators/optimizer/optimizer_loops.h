// Loops of optimizer operators over a parameter and its gradient.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/elementwise.h"
#include "op/number.h"
#include "op/op_registry.h"
#include "platform/loop_queue.h"

namespace dygraph::optimizer {

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

// body(begin, end) over n elements, in parallel: together with the loops of other parameters' steps
// where those wait for each other (platform/loop_queue.h), so a kernel may not read what this
// writes.
template <class Body>
void Elements(const KernelContext& ctx, int64_t n, int64_t cost, Body body) {
  if (LoopQueue* queue = ctx.call().queue) return queue->Add(n, cost, body);
  ParallelFor(n, kernels::Grain(cost), body);
}

// f(numbers, i) for each of n elements, in the same way unless `at_once`. `read` gives the numbers
// of the step from its tensors, once.
template <class T, class Read, class F>
void EachElement(const KernelContext& ctx, int64_t n, int64_t cost, Read read, F f,
                 bool at_once = false) {
  const auto numbers = read();
  auto body = [=](int64_t begin, int64_t end) {
    kernels::SimdFor<T>([=] {
      DYGRAPH_IVDEP
      for (int64_t i = begin; i < end; ++i) f(numbers, i);
    });
  };
  if (at_once) return ParallelFor(n, kernels::Grain(cost), body);
  Elements(ctx, n, cost, body);
}

// f() once, which may write what the loops of the step have read.
template <class F>
void AfterStep(const KernelContext&, F f) {
  f();
}

// f(numbers, i, the gradient of element i) for every element of Param, in parallel. Rows that a
// gradient of selected rows leaves out have gradient 0. Without `at_once` a dense gradient's loop
// may wait, as in Elements.
template <class T, class Read, class F>
void ForEachElement(KernelContext& ctx, int param_slot, int grad_slot, Read read, F f,
                    bool at_once = false) {
  const Tensor& param = ctx.In(param_slot);
  const auto numbers = read();
  if (!ctx.IsRows(grad_slot)) {
    const T* g = ctx.In(grad_slot).data<T>();
    auto body = [=](int64_t begin, int64_t end) {
      kernels::SimdFor<T>([=] {
        DYGRAPH_IVDEP
        for (int64_t i = begin; i < end; ++i) f(numbers, i, g[i]);
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
    for (int64_t k = 0; k < width; ++k) f(numbers, first + k, g ? g[k] : T(0));
  });
}

// The same for the elements of those rows that a gradient of selected rows holds.
template <class T, class Read, class F>
void ForEachTouchedElement(KernelContext& ctx, int param_slot, int grad_slot, Read read, F f) {
  const auto numbers = read();
  const int64_t width = RowWidth(ctx.In(param_slot));
  ForTouchedRows<T>(width, *ctx.InRows(grad_slot).Merged(), [=](int64_t row, const T* g) {
    DYGRAPH_IVDEP
    for (int64_t k = 0; k < width; ++k) f(numbers, row * width + k, g[k]);
  });
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

// The same as a number that loops read.
class Length {
 public:
  template <class T>
  Length(const KernelContext&, const T* x, int64_t n) : value_(Norm(x, n)) {}
  Number<double> number() const { return Number<double>(value_); }

 private:
  double value_;
};

}  // namespace dygraph::optimizer

// kernels/packed_rows.h on the device: one launch for all rows.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/launch.h"
#include "kernels/dual.h"
#include "kernels/elementwise.h"
#include "kernels/packed_steps.h"
#include "kernels/parallel.h"
#include "kernels/reduce.h"
#include "kernels/table.h"

namespace dygraph::kernels {

// f(row, j) for each j below width in each row.
template <class V, class F>
void EachInRows(int64_t rows, int64_t width, F f, int64_t) {
  if (width <= 0) return;
  const uint32_t narrow = rows * width <= UINT32_MAX ? static_cast<uint32_t>(width) : 0;
  cuda::EachIndex(rows * width, [=] DYGRAPH_FN(int64_t i) {
    const int64_t row = narrow ? static_cast<uint32_t>(i) / narrow : i / width;
    f(row, i - row * width);
  });
}

// f(i, rows[i], j) for i below n and j below width; without a list, f(i, i, j).
template <class V, class F>
void EachInListed(const int64_t* rows, int64_t n, int64_t width, F f) {
  EachInRows<V>(n, width, [=] DYGRAPH_FN(int64_t i, int64_t j) { f(i, rows ? rows[i] : i, j); }, 1);
}

// to[row] = x of the same sequence one step before; first[sequence] before the first, null: zeros.
template <class V>
void PreviousRows(const Steps& steps, const V* first, const V* x, int64_t width, V* to) {
  const int64_t rows = steps.rows(), count = steps.count();
  if (rows == 0) return;
  const int64_t start = steps.alive(0);
  if (steps.full()) {
    return EachInRows<V>(
        rows, width,
        [=] DYGRAPH_FN(int64_t r, int64_t j) {
          const int64_t at = r * width + j;
          to[at] = r >= start ? x[at - start * width] : first ? first[at] : V(0);
        },
        1);
  }
  Table<int64_t> table(steps.begin);
  const int64_t* begin = table.data();
  EachInRows<V>(
      rows, width,
      [=] DYGRAPH_FN(int64_t r, int64_t j) {
        if (r < start) {
          to[r * width + j] = first ? first[r * width + j] : V(0);
          return;
        }
        int64_t step = 1, end = count;  // begin[step] <= r < begin[end]
        while (end - step > 1) {
          const int64_t middle = (step + end) / 2;
          (begin[middle] <= r ? step : end) = middle;
        }
        to[r * width + j] = x[(begin[step - 1] + r - begin[step]) * width + j];
      },
      1);
}

// to[sequence] = x at its last step, or first[sequence] (null: zeros) where it has none.
template <class V>
void LastRows(const Steps& steps, const V* first, const V* x, int64_t width, V* to) {
  const int64_t count = steps.count(), batch = steps.batch;
  if (count > 0 && steps.full()) {
    const int64_t before = steps.rows() - batch;
    return EachInRows<V>(
        batch, width,
        [=] DYGRAPH_FN(int64_t s, int64_t j) { to[s * width + j] = x[(before + s) * width + j]; },
        1);
  }
  std::vector<int64_t> last(static_cast<size_t>(batch), -1);
  for (int64_t t = 0; t < count; ++t) {
    for (int64_t s = 0; s < steps.alive(t); ++s) last[s] = steps.begin[t] + s;
  }
  Table<int64_t> table(last);
  const int64_t* row = table.data();
  EachInRows<V>(
      batch, width,
      [=] DYGRAPH_FN(int64_t s, int64_t j) {
        const int64_t at = s * width + j;
        to[at] = row[s] >= 0 ? x[row[s] * width + j] : first ? first[at] : V(0);
      },
      1);
}

// sum[j] = the sum of column j of x [rows, width], rows lying `stride` apart. The two numbers of a
// dual are columns of their own.
template <class V>
void ColumnSums(const V* x, int64_t rows, int64_t width, int64_t stride, V* sum) {
  using T = Real<V>;
  constexpr int64_t kParts = sizeof(V) / sizeof(T);
  Walk<2> columns, runs;
  columns.Push(width * kParts, {1, 1});
  runs.Push(rows, {stride * kParts, 0});
  detail::ReduceWalks<SumOp<T>>(columns, runs, reinterpret_cast<const T*>(x),
                                reinterpret_cast<T*>(sum));
}

// x[row][j] += add[j]
template <class V>
void AddToRows(V* x, int64_t rows, int64_t width, int64_t stride, const V* add) {
  EachInRows<V>(
      rows, width, [=] DYGRAPH_FN(int64_t r, int64_t j) { x[r * stride + j] += add[j]; }, 1);
}

}  // namespace dygraph::kernels

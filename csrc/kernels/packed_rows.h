// Rows of sequences of different lengths, "packed": the sequences lie side by side, longest first,
// so that those alive at a step are the first ones; all rows of step 0, then of step 1, ...
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/dual.h"
#include "kernels/packed_steps.h"
#include "kernels/parallel.h"

namespace dygraph::kernels {

// f(row) for each row, in one compiled loop per instruction set; `width` weighs the work.
template <class V, class F>
void EachRow(int64_t rows, int64_t width, F f) {
  ParallelRows(rows, width, [=](int64_t begin, int64_t end) {
    SimdFor<V>([=] {
      for (int64_t r = begin; r < end; ++r) f(r);
    });
  });
}

// f(row, j) for each j below width in each row; `cost` is that of one.
template <class V, class F>
void EachInRows(int64_t rows, int64_t width, F f, int64_t cost) {
  EachRow<V>(rows, width * cost, [=](int64_t r) {
    DYGRAPH_IVDEP
    for (int64_t j = 0; j < width; ++j) f(r, j);
  });
}

// f(i, rows[i], j) for i below n and j below width; without a list, f(i, i, j).
template <class V, class F>
void EachInListed(const int64_t* rows, int64_t n, int64_t width, F f) {
  EachRow<V>(n, width, [=](int64_t i) {
    const int64_t row = rows ? rows[i] : i;
    DYGRAPH_IVDEP
    for (int64_t j = 0; j < width; ++j) f(i, row, j);
  });
}

// to[row] = x of the same sequence one step before; first[sequence] before the first, null: zeros.
template <class V>
void PreviousRows(const Steps& steps, const V* first, const V* x, int64_t width, V* to) {
  const int64_t count = steps.count();
  if (count == 0) return;
  ParallelRows(count, steps.rows() * width / count, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const V* from = Before(steps, first, x, width, t);
      V* rows = to + steps.begin[t] * width;
      int64_t n = steps.alive(t) * width;
      if (from) {
        std::copy(from, from + n, rows);
      } else {
        std::fill(rows, rows + n, V(0));
      }
    }
  });
}

// sum[j] = the sum of column j of x [rows, width], rows lying `stride` apart. A column belongs to
// one thread.
template <class V>
void ColumnSums(const V* x, int64_t rows, int64_t width, int64_t stride, V* sum) {
  constexpr int64_t kPiece = 64;
  ParallelRows((width + kPiece - 1) / kPiece, kPiece * rows, [=](int64_t first, int64_t last) {
    const int64_t begin = first * kPiece, end = std::min(last * kPiece, width);
    std::fill(sum + begin, sum + end, V(0));
    SimdFor<V>([=] {
      for (int64_t r = 0; r < rows; ++r) {
        DYGRAPH_IVDEP
        for (int64_t j = begin; j < end; ++j) sum[j] += x[r * stride + j];
      }
    });
  });
}

// x[row][j] += add[j]
template <class V>
void AddToRows(V* x, int64_t rows, int64_t width, int64_t stride, const V* add) {
  EachRow<V>(rows, width, [=](int64_t r) {
    DYGRAPH_IVDEP
    for (int64_t j = 0; j < width; ++j) x[r * stride + j] += add[j];
  });
}

// to[sequence] = x at its last step, or first[sequence] (null: zeros) where it has none.
template <class V>
void LastRows(const Steps& steps, const V* first, const V* x, int64_t width, V* to) {
  if (first) {
    std::copy(first, first + steps.batch * width, to);
  } else {
    std::fill(to, to + steps.batch * width, V(0));
  }
  for (int64_t t = 0; t < steps.count(); ++t) {  // a sequence's later steps overwrite earlier ones
    int64_t next = t + 1 < steps.count() ? steps.alive(t + 1) : 0;
    const V* rows = x + steps.begin[t] * width;
    std::copy(rows + next * width, rows + steps.alive(t) * width, to + next * width);
  }
}

}  // namespace dygraph::kernels

// operators/sequence/sequence_loops.h on the device: a thread for each number of the result, and a
// table of what its row is made of.
#pragma once

#include <vector>

#include "cuda/errors_cuda.h"
#include "cuda/launch.h"
#include "kernels/elementwise.h"
#include "kernels/rows.h"
#include "kernels/table.h"
#include "kernels/touched_rows.h"
#include "operators/sequence/sequence.h"

namespace dygraph::sequence {

namespace detail {
// By row of the output: its row of the input.
inline std::vector<int64_t> Sources(const Moves& moves) {
  std::vector<int64_t> rows(static_cast<size_t>(moves.rows));
  for (const Run& r : moves.runs) {
    for (int64_t i = 0; i < r.count; ++i) rows[static_cast<size_t>(r.to + i)] = r.from + i;
  }
  return rows;
}
}  // namespace detail

inline void CopyRuns(const Moves& moves, const void* from, size_t row_bytes, void* to) {
  if (row_bytes == 0 || moves.rows == 0) return;
  kernels::Table<int64_t> rows(detail::Sources(moves));
  const size_t unit = row_bytes % 8 == 0 ? 8 : row_bytes % 4 == 0 ? 4 : row_bytes % 2 == 0 ? 2 : 1;
  const kernels::RowShape shape{1, 0, static_cast<int64_t>(row_bytes / unit)};
  kernels::TakeRows(shape, from, rows.data(), moves.rows, to, unit);
}

template <class T>
void AddRunsBack(const Moves& moves, const T* g, int64_t width, T* x, int64_t n) {
  kernels::Fill(x, n, T(0));
  kernels::ForEachTouched<T>(detail::Sources(moves).data(), moves.rows, width,
                             [=] DYGRAPH_FN(int64_t row, int64_t i, int64_t k) {
                               x[row * width + k] += g[i * width + k];
                             });
}

template <class T>
struct WeightedRows {
  int64_t begin, end;
  T weight;
};
template <class T>
void SumRows(const std::vector<WeightedRows<T>>& parts, const T* x, int64_t width, T other, T* y) {
  kernels::Table<WeightedRows<T>> table(parts);
  const WeightedRows<T>* part = table.data();
  cuda::EachIndex(static_cast<int64_t>(parts.size()) * width, [=] DYGRAPH_FN(int64_t i) {
    const WeightedRows<T> p = part[i / width];
    const int64_t j = i % width;
    T sum = 0;
    for (int64_t r = p.begin; r < p.end; ++r) sum += x[r * width + j];
    y[i] = p.begin == p.end ? other : sum * p.weight;
  });
}
template <class T>
void SpreadRows(const std::vector<WeightedRows<T>>& parts, const T* g, int64_t width, T* x,
                int64_t n) {
  std::vector<int64_t> of(static_cast<size_t>(n), -1);
  for (size_t s = 0; s < parts.size(); ++s) {
    for (int64_t r = parts[s].begin; r < parts[s].end; ++r)
      of[static_cast<size_t>(r)] = static_cast<int64_t>(s);
  }
  kernels::Table<int64_t> rows(of);
  kernels::Table<WeightedRows<T>> table(parts);
  const int64_t* part_of = rows.data();
  const WeightedRows<T>* part = table.data();
  cuda::EachIndex(n * width, [=] DYGRAPH_FN(int64_t i) {
    const int64_t s = part_of[i / width];
    x[i] = s < 0 ? T(0) : part[s].weight * g[s * width + i % width];
  });
}

template <class T>
void PickRows(const Tensor& index, const Offsets& offsets, const T* x, int64_t width, T* y) {
  kernels::Table<int64_t> table(offsets);
  const int64_t* begin = table.data();
  const int32_t* from = index.data<int32_t>();
  const cuda::IndexGuard row({"sequence_pool", "MaxIndex"}, offsets.back());
  cuda::EachIndex(Count(offsets) * width, [=] DYGRAPH_FN(int64_t i) {
    const int64_t s = i / width;
    y[i] = begin[s] == begin[s + 1] ? T(0) : x[row(from[i]) * width + i % width];
  });
}
template <class T>
void PutPicked(const Tensor& index, const Offsets& offsets, const T* g, int64_t width, T* x,
               int64_t n) {
  kernels::Fill(x, n * width, T(0));
  kernels::Table<int64_t> table(offsets);
  const int64_t* begin = table.data();
  const int32_t* from = index.data<int32_t>();
  const cuda::IndexGuard row({"sequence_pool", "MaxIndex"}, offsets.back());
  cuda::EachIndex(Count(offsets) * width, [=] DYGRAPH_FN(int64_t i) {
    const int64_t s = i / width;
    if (begin[s] < begin[s + 1]) x[row(from[i]) * width + i % width] = g[i];
  });
}

template <class T>
void PadRows(const Offsets& offsets, const T* x, int64_t width, int64_t longest, const T* pad,
             bool one, T* y) {
  kernels::Table<int64_t> table(offsets);
  const int64_t* begin = table.data();
  cuda::EachIndex(Count(offsets) * longest * width, [=] DYGRAPH_FN(int64_t i) {
    const int64_t j = i % width, row = i / width, s = row / longest, at = begin[s] + row % longest;
    y[i] = at < begin[s + 1] ? x[at * width + j] : pad[one ? 0 : j];
  });
}

}  // namespace dygraph::sequence

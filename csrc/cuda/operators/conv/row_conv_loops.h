// operators/conv/row_conv_loops.h on the device: a thread for each number of a row, a team for each
// number of the filter.
#pragma once

#include "kernels/loops.h"
#include "kernels/table.h"
#include "operators/sequence/row_bounds.h"

namespace dygraph::sequence {

// y[t] = the sum over w of x[t + w] * f[w].
template <class T>
void LookAhead(const Offsets& offsets, int64_t taps, int64_t width, const T* x, const T* f, T* y) {
  kernels::Table<RowBounds> table(BoundsOf(offsets));
  const RowBounds* bounds = table.data();
  kernels::ForEach(offsets.back() * width, [=] DYGRAPH_FN(int64_t i) {
    const int64_t j = i % width, t = i / width, end = bounds[t].end;
    T sum = 0;
    for (int64_t w = 0; w < taps && t + w < end; ++w) sum += x[i + w * width] * f[w * width + j];
    y[i] = sum;
  });
}

// dx[t] = the sum over w of g[t - w] * f[w].
template <class T>
void LookBack(const Offsets& offsets, int64_t taps, int64_t width, const T* g, const T* f, T* dx) {
  kernels::Table<RowBounds> table(BoundsOf(offsets));
  const RowBounds* bounds = table.data();
  kernels::ForEach(offsets.back() * width, [=] DYGRAPH_FN(int64_t i) {
    const int64_t j = i % width, t = i / width, begin = bounds[t].begin;
    T sum = 0;
    for (int64_t w = 0; w < taps && t - w >= begin; ++w) sum += g[i - w * width] * f[w * width + j];
    dx[i] = sum;
  });
}

// df[w] = the sum over t of g[t] * x[t + w].
template <class T>
void TapSums(const Offsets& offsets, int64_t taps, int64_t width, const T* g, const T* x, T* df) {
  kernels::Table<RowBounds> table(BoundsOf(offsets));
  const RowBounds* bounds = table.data();
  const int64_t rows = offsets.back();
  kernels::ForEachRow(taps * width, rows, [=] DYGRAPH_FN(int64_t r, kernels::Team team) {
    const int64_t w = r / width, j = r % width;
    const T sum = team.Sum<T>(rows, [=](int64_t t) {
      return t + w < bounds[t].end ? g[t * width + j] * x[(t + w) * width + j] : T(0);
    });
    team.Once([=] { df[r] = sum; });
  });
}

}  // namespace dygraph::sequence

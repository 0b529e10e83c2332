// operators/sequence/sequence_context_loops.h on the device: a thread for each number of the
// result.
#pragma once

#include "cuda/launch.h"
#include "kernels/table.h"
#include "operators/sequence/row_bounds.h"
#include "operators/sequence/sequence_context.h"

namespace dygraph::sequence {

template <class T>
void GatherContext(const Offsets& offsets, const ContextAttrs& a, const T* x, const T* padding,
                   int64_t width, T* to) {
  kernels::Table<RowBounds> table(BoundsOf(offsets));
  const RowBounds* bounds = table.data();
  const int64_t length = a.contextLength, start = a.contextStart, up = a.up();
  if (!a.paddingTrainable) padding = nullptr;
  cuda::ForEach(offsets.back() * length * width, [=] DYGRAPH_FN(int64_t i) {
    const int64_t j = i % width, k = i / width % length, row = i / width / length;
    const RowBounds b = bounds[row];
    const int64_t from = row + start + k;
    if (from >= b.begin && from < b.end) {
      to[i] = x[from * width + j];
    } else {
      const int64_t pad = up + from - (from < b.begin ? b.begin : b.end);
      to[i] = padding && pad >= 0 ? padding[pad * width + j] : T(0);
    }
  });
}

template <class T>
void SpreadContext(const Offsets& offsets, const ContextAttrs& a, const T* g, int64_t width,
                   int64_t rows, T* x, int64_t padding_rows, T* padding) {
  const int64_t length = a.contextLength, start = a.contextStart, up = a.up();
  if (x) {
    kernels::Table<RowBounds> table(BoundsOf(offsets));
    const RowBounds* bounds = table.data();
    cuda::ForEach(rows * width, [=] DYGRAPH_FN(int64_t i) {
      const int64_t j = i % width, from = i / width;
      const RowBounds b = bounds[from];
      T sum = 0;
      for (int64_t k = length - 1; k >= 0; --k) {
        const int64_t row = from - start - k;
        if (row >= b.begin && row < b.end) sum += g[(row * length + k) * width + j];
      }
      x[i] = sum;
    });
  }
  if (!padding) return;
  kernels::Table<int64_t> table(offsets);
  const int64_t *offset = table.data(), count = a.paddingTrainable ? Count(offsets) : 0;
  cuda::ForEach(padding_rows * width, [=] DYGRAPH_FN(int64_t i) {
    const int64_t j = i % width, pad = i / width;
    T sum = 0;
    for (int64_t s = 0; s < count; ++s) {
      const int64_t begin = offset[s], end = offset[s + 1];
      const int64_t from = pad - up + (pad < up ? begin : end);
      for (int64_t k = length - 1; k >= 0; --k) {
        const int64_t row = from - start - k;
        if (row >= begin && row < end) sum += g[(row * length + k) * width + j];
      }
    }
    padding[i] = sum;
  });
}

}  // namespace dygraph::sequence

// Maxima put back where they came from. Where several lie at one place the last counts.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/positions.h"

namespace dygraph::kernels {

// For each of `channels`, `in` numbers x go to places in a channel of y, `size` zeros.
template <class T>
void Unpool(const T* x, const Positions& at, int64_t channels, int64_t in, int64_t size, T* y) {
  for (int64_t i = 0; i < channels * in; ++i) y[i / in * size + at[i]] = x[i];
}

// dx is dy at its place where it counts, else 0.
template <class T>
void UnpoolBackward(const T* dy, const Positions& at, int64_t channels, int64_t in, int64_t size,
                    T* dx) {
  std::vector<int64_t> last(static_cast<size_t>(size));
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t i = c * in; i < (c + 1) * in; ++i) last[at[i]] = i;
    for (int64_t i = c * in; i < (c + 1) * in; ++i)
      dx[i] = last[at[i]] == i ? dy[c * size + at[i]] : T(0);
  }
}

}  // namespace dygraph::kernels

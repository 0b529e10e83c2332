// The loops of row_conv: rows of sequences, and taps that look ahead within them.
#pragma once

#include "operators/sequence/sequence.h"

namespace dygraph::sequence {

// Calls f(row, w) for every row t and w with t + w in the sequence.
template <class F>
void ForEachTap(const Offsets& offsets, int64_t taps, F f) {
  for (int64_t s = 0; s < Count(offsets); ++s) {
    for (int64_t t = offsets[s]; t < offsets[s + 1]; ++t) {
      for (int64_t w = 0; w < std::min(taps, offsets[s + 1] - t); ++w) f(t, w);
    }
  }
}

// y[t] = the sum over w of x[t + w] * f[w].
template <class T>
void LookAhead(const Offsets& offsets, int64_t taps, int64_t width, const T* x, const T* f, T* y) {
  std::fill_n(y, offsets.back() * width, T(0));
  ForEachTap(offsets, taps, [&](int64_t t, int64_t w) {
    for (int64_t j = 0; j < width; ++j)
      y[t * width + j] += x[(t + w) * width + j] * f[w * width + j];
  });
}

// dx[t] = the sum over w of g[t - w] * f[w].
template <class T>
void LookBack(const Offsets& offsets, int64_t taps, int64_t width, const T* g, const T* f, T* dx) {
  std::fill_n(dx, offsets.back() * width, T(0));
  ForEachTap(offsets, taps, [&](int64_t t, int64_t w) {
    for (int64_t j = 0; j < width; ++j)
      dx[(t + w) * width + j] += g[t * width + j] * f[w * width + j];
  });
}

// df[w] = the sum over t of g[t] * x[t + w].
template <class T>
void TapSums(const Offsets& offsets, int64_t taps, int64_t width, const T* g, const T* x, T* df) {
  std::fill_n(df, taps * width, T(0));
  ForEachTap(offsets, taps, [&](int64_t t, int64_t w) {
    for (int64_t j = 0; j < width; ++j)
      df[w * width + j] += g[t * width + j] * x[(t + w) * width + j];
  });
}

}  // namespace dygraph::sequence

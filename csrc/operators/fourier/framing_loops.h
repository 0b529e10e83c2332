// The loops of frame and overlap_add.
#pragma once

#include <algorithm>

#include "kernels/parallel.h"
#include "operators/fourier/framing.h"

namespace dygraph::fourier {

template <class T>
void Cut(const Framing& s, const T* signal, T* frames) {
  if (s.last) {  // rows of one number of every frame
    return kernels::ParallelRows(s.outer * s.length, s.count, [=](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const T* from = signal + r / s.length * s.n + r % s.length;
        T* to = frames + r * s.count;
        for (int64_t f = 0; f < s.count; ++f) to[f] = from[f * s.hop];
      }
    });
  }
  const int64_t size = s.length * s.inner, step = s.hop * s.inner;
  kernels::ParallelRows(s.count, size, [=](int64_t begin, int64_t end) {
    for (int64_t f = begin; f < end; ++f) std::copy_n(signal + f * step, size, frames + f * size);
  });
}

// Each number of the signal by one thread, its terms in the order of the frames.
template <class T>
void AddUp(const Framing& s, const T* frames, T* signal) {
  const int64_t terms = s.length / s.hop + 1;
  kernels::ParallelRows(s.outer * s.n, terms * s.inner, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t o = i / s.n, at = i % s.n;
      T* to = signal + i * s.inner;
      std::fill_n(to, s.inner, T(0));
      const int64_t first = at < s.length ? 0 : (at - s.length) / s.hop + 1,
                    last = std::min(s.count - 1, at / s.hop);
      for (int64_t f = first; f <= last; ++f) {
        const T* from = frames + s.At(o, f, at - f * s.hop) * s.inner;
        for (int64_t j = 0; j < s.inner; ++j) to[j] += from[j];
      }
    }
  });
}

}  // namespace dygraph::fourier

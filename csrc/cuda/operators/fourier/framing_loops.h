// operators/fourier/framing_loops.h on the device: a thread for each number that is made.
#pragma once

#include "kernels/loops.h"
#include "operators/fourier/framing.h"

namespace dygraph::fourier {

template <class T>
void Cut(const Framing& framing, const T* signal, T* frames) {
  const Framing s = framing;
  kernels::ForEach(s.outer * s.length * s.count * s.inner, [=] DYGRAPH_FN(int64_t i) {
    const int64_t j = i % s.inner, at = i / s.inner;
    const int64_t f = s.last ? at % s.count : at / s.length;
    const int64_t t = s.last ? at / s.count % s.length : at % s.length;
    const int64_t o = s.last ? at / s.count / s.length : 0;
    frames[i] = signal[(o * s.n + f * s.hop + t) * s.inner + j];
  });
}

// Each number of the signal by one thread, its terms in the order of the frames.
template <class T>
void AddUp(const Framing& framing, const T* frames, T* signal) {
  const Framing s = framing;
  kernels::ForEach(s.outer * s.n * s.inner, [=] DYGRAPH_FN(int64_t i) {
    const int64_t j = i % s.inner, at = i / s.inner % s.n, o = i / s.inner / s.n;
    const int64_t behind = at / s.hop, end = behind < s.count ? behind + 1 : s.count;
    T sum = 0;
    for (int64_t f = at < s.length ? 0 : (at - s.length) / s.hop + 1; f < end; ++f)
      sum += frames[s.At(o, f, at - f * s.hop) * s.inner + j];
    signal[i] = sum;
  });
}

}  // namespace dygraph::fourier

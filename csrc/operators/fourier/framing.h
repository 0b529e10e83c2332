// frame and overlap_add: a signal cut into frames of frame_length, which begin hop_length apart,
// and frames added up to a signal. Each is the gradient of the other. Along the last axis a signal
// is
// [..., n] and its frames [..., frame_length, frames]; along the first [n, ...] and
// [frames, frame_length, ...].
#pragma once

#include <algorithm>

#include "kernels/parallel.h"
#include "op/lod_rule.h"
#include "op/op_registry.h"

namespace dygraph::fourier {

constexpr int kSignal = 0, kFrames = 0;

inline AttrCheck IsFirstOrLast() {
  return [](const std::string& name, const AttrValue& value) {
    const double axis = NumberOf(value);
    ENFORCE(axis == 0 || axis == -1, InvalidArgument, name,
            " must be 0, the first axis, or -1, the last one, got ", axis,
            ". Transpose for another one");
  };
}

// The sizes of both, for kernels.
struct Framing {
  int64_t outer, n, inner, length, count, hop;
  bool last;
  // signal: the shape of the signal; frames: that of its frames
  Framing(const Dims& signal, const Dims& frames, int64_t hop, bool last) : hop(hop), last(last) {
    const int rank = signal.rank();
    outer = last ? Numel(signal, 0, rank - 1) : 1;
    inner = last ? 1 : Numel(signal, 1, rank);
    n = signal[last ? rank - 1 : 0];
    length = frames[last ? rank - 1 : 1];
    count = frames[last ? rank : 0];
  }
  // Where number t of frame f begins, in runs of `inner`.
  int64_t At(int64_t o, int64_t f, int64_t t) const {
    return last ? (o * length + t) * count + f : f * length + t;
  }
};

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

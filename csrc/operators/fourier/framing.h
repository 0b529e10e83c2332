// frame and overlap_add: a signal cut into frames of frame_length, which begin hop_length apart,
// and frames added up to a signal. Each is the gradient of the other. Along the last axis a signal
// is
// [..., n] and its frames [..., frame_length, frames]; along the first [n, ...] and
// [frames, frame_length, ...].
#pragma once

#include "kernels/simd.h"
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
  DYGRAPH_INLINE int64_t At(int64_t o, int64_t f, int64_t t) const {
    return last ? (o * length + t) * count + f : f * length + t;
  }
};

}  // namespace dygraph::fourier

// Rows with their neighbours: what sequence_conv multiplies with its filter, and sequence_context
// gives as it is.
#pragma once

#include "operators/sequence/sequence.h"

namespace dygraph::sequence {

struct ContextAttrs {
  bool paddingTrainable = false;
  int32_t contextLength = 1, contextStart = 0, contextStride = 1;
  int64_t up() const { return std::max<int64_t>(0, -int64_t{contextStart}); }
  int64_t down() const { return std::max<int64_t>(0, int64_t{contextStart} + contextLength - 1); }
};

// Calls f(row, place in the window, source row >= 0, or -1, padding row) for all places; a padding
// row of -1 stands for zeros.
template <class F>
void ForEachNeighbour(const Offsets& offsets, const ContextAttrs& a, F f) {
  for (int64_t s = 0; s < Count(offsets); ++s) {
    int64_t begin = offsets[s], end = offsets[s + 1];
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t k = 0; k < a.contextLength; ++k) {
        int64_t from = row + a.contextStart + k;
        if (from >= begin && from < end) {
          f(row, k, from, int64_t{-1});
        } else if (!a.paddingTrainable) {
          f(row, k, int64_t{-1}, int64_t{-1});
        } else {
          f(row, k, int64_t{-1}, from < begin ? a.up() + from - begin : a.up() + from - end);
        }
      }
    }
  }
}

template <class A>
OpDef& AddContextAttrs(OpDef& op) {
  return op
      .Attr(&A::paddingTrainable, "paddingTrainable", "PaddingData stands beyond the ends, not 0")
      .Attr(&A::contextLength, "contextLength", "rows in a window", Between(1, 1 << 20))
      .Attr(&A::contextStart, "contextStart", "its first row, from the row it stands for",
            Between(-(1 << 20), 1 << 20))
      .Attr(&A::contextStride, "contextStride", "1", Between(1, 1));
}

// [rows, contextLength * D] of X [rows, D]; checks X and PaddingData.
inline Dims ContextShape(InferContext& ctx, int x_slot, int padding_slot, const ContextAttrs& a) {
  const Dims& x = ctx.dims(x_slot);
  ENFORCE(x.rank() == 2, InvalidArgument, "X must be a matrix [rows, D], got shape ", x);
  if (ctx.runtime()) LastLevel(ctx.value(x_slot).tensor(), "X");
  if (a.paddingTrainable && ctx.HasInput(padding_slot)) {
    const Dims& p = ctx.dims(padding_slot);
    ENFORCE(p.rank() == 2 && (p[0] == a.up() + a.down() || p[0] < 0) &&
                (p[1] == x[1] || !BothKnown(p[1], x[1])),
            InvalidArgument, "PaddingData must have shape [rows above + rows below, D], [",
            a.up() + a.down(), ", ", x[1], "], got ", p);
  }
  return {x[0], MulSizes(x[1], a.contextLength)};
}

// x [rows, width] -> to [rows, contextLength * width]
template <class T>
void GatherContext(const Offsets& offsets, const ContextAttrs& a, const T* x, const T* padding,
                   int64_t width, T* to) {
  ForEachNeighbour(offsets, a, [&](int64_t row, int64_t k, int64_t from, int64_t pad) {
    T* at = to + (row * a.contextLength + k) * width;
    const T* source = from >= 0             ? x + from * width
                      : padding && pad >= 0 ? padding + pad * width
                                            : nullptr;
    if (source) {
      std::copy_n(source, width, at);
    } else {
      std::fill_n(at, width, T(0));
    }
  });
}

}  // namespace dygraph::sequence

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

}  // namespace dygraph::sequence

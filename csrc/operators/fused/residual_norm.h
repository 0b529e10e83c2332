// layer_norm of a sum, as the transformer's passes write it.
#pragma once

#include "operators/fused/fused.h"

namespace dygraph::fused {

struct ResidualNormSlots {
  int scale, bias;                    // inputs
  int out, mean = -1, variance = -1;  // outputs
};

// layer_norm(a + b), with the two outputs in the shape of the rows.
inline void ResidualNorm(KernelContext& ctx, const Value& a, const Value& b,
                         const ResidualNormSlots& s, int32_t begin_norm_axis, double epsilon) {
  Value sum;
  PartCall(ctx, "elementwise_add").In(a).In(b).Out(&sum).Run();
  auto wanted = [&](int slot) {
    return slot >= 0 && ctx.HasOutput(slot) ? &ctx.OutValue(slot) : nullptr;
  };
  PartCall(ctx, "layer_norm")
      .In(sum)
      .In(InputOrNull(ctx, s.scale))
      .In(InputOrNull(ctx, s.bias))
      .Out(&ctx.OutValue(s.out))
      .Out(wanted(s.mean))
      .Out(wanted(s.variance))
      .Attr("begin_norm_axis", begin_norm_axis)
      .Attr("epsilon", epsilon)
      .Run();
}

// Columns of the rows that are normalised.
inline int64_t NormWidth(const Dims& x, int begin_norm_axis) {
  ENFORCE(begin_norm_axis < x.rank(), InvalidArgument, "begin_norm_axis must be an axis of shape ",
          x, ", got ", begin_norm_axis);
  int64_t width = 1;
  for (int i = begin_norm_axis; i < x.rank(); ++i) width = MulSizes(width, x[i]);
  return width;
}

inline void CheckWidth(InferContext& ctx, int slot, int64_t width) {
  if (!ctx.HasInput(slot)) return;
  const Dims& d = ctx.dims(slot);
  ENFORCE(d.HasUnknown() || width < 0 || Numel(d) == width, InvalidArgument, NameOf(ctx, slot),
          " must hold a number for each of the ", width, " elements of a row, got shape ", d);
}

}  // namespace dygraph::fused

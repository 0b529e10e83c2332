// What the fused operators of Fluid's passes share. They compute as the operators they stand for
// (op/part_call.h), and keep what Fluid's programs name beside their results.
#pragma once

#include "op/lod_rule.h"
#include "op/op_registry.h"
#include "op/part_call.h"

namespace dygraph::fused {

// An output that Fluid's kernel needs for itself, and ours does not: nothing.
inline void SetUnused(InferContext& ctx, std::initializer_list<int> slots) {
  for (int slot : slots) ctx.SetOutput(slot, {0});
}
inline void FillUnused(KernelContext& ctx, std::initializer_list<int> slots) {
  for (int slot : slots) {
    if (Tensor* out = ctx.OutOrNull(slot)) out->AllocateData(ctx.place());
  }
}

// Where the caller wants an output, there, else in `own`.
inline Value* OutputOr(KernelContext& ctx, int slot, Value* own) {
  return ctx.HasOutput(slot) ? &ctx.OutValue(slot) : own;
}

inline const std::string& NameOf(InferContext& ctx, int slot) {
  return ctx.call().op->inputs[slot].name;
}

// A matrix with sizes that must be; -1 passes any.
inline void CheckMatrix(InferContext& ctx, int slot, int64_t rows, int64_t columns,
                        const char* what) {
  const Dims& d = ctx.dims(slot);
  ENFORCE(d.rank() == 2 && (d[0] == rows || !BothKnown(d[0], rows)) &&
              (d[1] == columns || !BothKnown(d[1], columns)),
          InvalidArgument, NameOf(ctx, slot), " must have shape ", what, ", [", rows, ", ", columns,
          "] here, got ", d);
}

}  // namespace dygraph::fused

// What operators on selected rows share.
#pragma once

#include <vector>

#include "op/op_registry.h"

namespace dygraph::selected_rows {

// TypeError naming the slot where it holds a tensor.
inline const SelectedRows& RowsOf(InferContext& ctx, int slot) {
  const Value& value = ctx.value(slot);
  ENFORCE(value.is_rows(), Type, "Input(", ctx.call().op->inputs[slot].name,
          ") must be selected rows, got a tensor of shape ", value.dims());
  return value.rows();
}

// Output `out` will be selected rows like input `in`, whose own number of rows the kernel decides.
inline void SetLike(InferContext& ctx, int in, int out) {
  const SelectedRows& like = RowsOf(ctx, in);
  Value* value = ctx.call().out.at(out);
  Tensor none;
  Dims dims = like.complete_dims();
  dims[0] = 0;
  none.SetMeta(dims, like.value().dtype(), like.value().place());
  if (value)
    value->SetRows(MakeRef<SelectedRows>(std::vector<int64_t>(), like.height(), std::move(none)));
}

// For operators whose Out is what X is: selected rows of selected rows, a tensor of a tensor.
template <int kX, int kOut>
void VarTypeOf(InferContext& ctx) {
  if (ctx.value(kX).is_rows()) SetLike(ctx, kX, kOut);
}
template <int kX, int kOut>
void ShapeOf(InferContext& ctx) {
  if (!ctx.value(kX).is_rows()) ctx.SetOutput(kOut, ctx.dims(kX), ctx.dtype(kX));
}

// The same rows with other values.
inline Ref<SelectedRows> WithValue(const SelectedRows& rows, Tensor value) {
  return MakeRef<SelectedRows>(rows.rows(), rows.height(), std::move(value));
}

}  // namespace dygraph::selected_rows

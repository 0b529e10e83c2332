#include "operators/optimizer/optimizer.h"

namespace dygraph::optimizer {

void CheckLikeParam(const InferContext& ctx, int param, int slot, const char* name) {
  const Dims &p = ctx.dims(param), &d = ctx.dims(slot);
  bool same = p.rank() == d.rank();
  for (int i = 0; same && i < p.rank(); ++i) same = p[i] == d[i] || !BothKnown(p[i], d[i]);
  ENFORCE(same, InvalidArgument, name, " must have the shape of Param, ", p, ", got ", d);
  ENFORCE(ctx.dtype(slot) == ctx.dtype(param), Type, name, " must have the element type of Param, ",
          ctx.dtype(param), ", got ", ctx.dtype(slot));
}

bool IsScalar(const Dims& d) { return d.empty() || (d.rank() == 1 && (d[0] == 1 || d[0] < 0)); }

void CheckScalar(const InferContext& ctx, int param, int slot, const char* name) {
  ENFORCE(IsScalar(ctx.dims(slot)), InvalidArgument, name,
          " must hold one number, shape [1] or [], got ", ctx.dims(slot));
  DType type = ctx.dtype(slot);
  ENFORCE(type == DType::kFloat32 || type == ctx.dtype(param), Type, name,
          " must be of float32 or Param's type, ", ctx.dtype(param), ", got ", type);
}

void InferStep(InferContext& ctx, int param, int grad,
               std::initializer_list<std::pair<int, int>> kept,
               std::initializer_list<int> scalars) {
  const auto& slots = ctx.call().op->inputs;
  CheckLikeParam(ctx, param, grad, slots[grad].name.c_str());
  for (auto [in, out] : kept) {
    if (in != param && ctx.HasInput(in)) CheckLikeParam(ctx, param, in, slots[in].name.c_str());
  }
  for (int slot : scalars) {
    if (ctx.HasInput(slot)) CheckScalar(ctx, param, slot, slots[slot].name.c_str());
  }
  for (auto [in, out] : kept) ctx.SetOutput(out, ctx.dims(param), ctx.dtype(param));
}

void InferNumber(InferContext& ctx, int in, int out) {
  ctx.SetOutput(out, ctx.dims(in), ctx.dtype(in));
}

int64_t RowWidth(const Tensor& param) {
  return param.dim(0) == 0 ? 0 : param.numel() / param.dim(0);
}

void CopyThrough(const Tensor& from, Tensor* to) {
  if (from.raw_data() != to->raw_data() && from.numel() > 0)
    GetDeviceContext(from.place())
        .CopyWithin(to->mutable_raw_data(), from.raw_data(), from.bytes());
}

}  // namespace dygraph::optimizer

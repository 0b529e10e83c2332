// What select_input and select_output share: one of several values by a number.
#pragma once

#include "operators/control/array.h"

namespace dygraph::select {

inline int64_t BranchIn(const KernelContext& ctx, int slot, int count, const char* of) {
  const Tensor& t = ctx.In(slot);
  ENFORCE(t.numel() == 1, InvalidArgument, "Mask must hold one integer, got shape ", t.dims());
  const int64_t branch = Integers(t, "Mask")[0];
  ENFORCE(branch >= 0 && branch < count, OutOfRange, "Mask must be in [0, ", count,
          "), the number of a ", of, ", got ", branch);
  return branch;
}

inline Tensor Zeros(const Tensor& like, Place place) {
  Tensor t(like.dims(), like.dtype(), place);
  array::Clear(&t);
  t.SetLoD(like.lod_ref());
  return t;
}

// Nothing where `like` is nothing.
inline Value ZerosLike(const Value& like, Place place) {
  if (!like.is_array()) return like.empty() ? Value() : Value(Zeros(like.tensor(), place));
  std::vector<Tensor> items;
  for (const Tensor& t : like.array().items)
    items.push_back(t.dtype() == DType::kUnset ? Tensor() : Zeros(t, place));
  return Value(MakeRef<TensorArray>(std::move(items)));
}

// While a program is described: the output is what the value is, sizes that differ are open.
inline void DescribeLike(InferContext& ctx, const Value& v, int out_slot, int i) {
  Value* out = ctx.call().out.at(out_slot, i);
  if (out) *out = v;
}

}  // namespace dygraph::select

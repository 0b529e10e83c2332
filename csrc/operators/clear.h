// Tensors of zeros, and copies of whole tensors, wherever they lie.
#pragma once

#include "kernels/elementwise.h"
#include "op/op_registry.h"

namespace dygraph {

inline void Clear(Tensor* t) {
  if (t->numel() > 0)
    kernels::Fill(static_cast<uint8_t*>(t->mutable_raw_data()), static_cast<int64_t>(t->bytes()),
                  uint8_t{0});
}

// `to` gets the elements of `from`; nothing where both are one array.
inline void CopyAll(KernelContext& ctx, const Tensor& from, Tensor* to) {
  if (from.numel() > 0 && from.raw_data() != to->raw_data())
    ctx.device().CopyWithin(to->mutable_raw_data(), from.raw_data(), from.bytes());
}

}  // namespace dygraph

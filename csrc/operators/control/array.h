// What the operators on arrays share.
#pragma once

#include "op/op_registry.h"
#include "operators/arguments.h"

namespace dygraph::array {

// The number of an element, which must be one int64 of at least 0.
inline int64_t NumberIn(const KernelContext& ctx, int slot) {
  const Tensor& t = ctx.In(slot);
  ENFORCE(t.numel() == 1, InvalidArgument, "I must hold one integer, got shape ", t.dims());
  return Integers(t, "I")[0];
}

}  // namespace dygraph::array

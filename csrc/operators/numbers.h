// Numbers that kernels read from their inputs.
#pragma once

#include "kernels/number.h"
#include "op/op_registry.h"

namespace dygraph {

// The one element of an input, for the functors of a kernel.
template <class T>
kernels::Number<T> NumberOf(const KernelContext& ctx, int slot) {
  const Tensor& t = ctx.In(slot);
  ENFORCE(t.numel() == 1, InvalidArgument, "a number must be one element, got shape ", t.dims());
  return kernels::Number<T>(t.data<T>());
}

}  // namespace dygraph

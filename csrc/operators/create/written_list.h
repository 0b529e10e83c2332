// Elements that stand in an attribute.
#pragma once

#include "kernels/cast.h"
#include "op/op_registry.h"

namespace dygraph {

// The elements of `out`, as many as the list has, are those of the list.
template <class T, class List>
void WriteList(KernelContext& ctx, const List& list, Tensor* out) {
  const bool on_host = ctx.place() == CPUPlace();
  Tensor copy;
  if (!on_host) copy = Tensor(out->dims(), out->dtype(), CPUPlace());
  T* to = (on_host ? *out : copy).template mutable_data<T>();
  for (const auto& value : list) *to++ = kernels::Convert<T>(value);
  if (!on_host) ctx.device().CopyFromHost(out->mutable_raw_data(), copy.raw_data(), copy.bytes());
}

}  // namespace dygraph

// Arrays repeated to a common shape, for operators whose loops take arrays of one shape.
#pragma once

#include "kernels/broadcast.h"
#include "kernels/strided_copy.h"
#include "kernels/strides.h"
#include "tensor/tensor.h"

namespace dygraph {

// The strides of a tensor repeated to `shape`.
inline Dims RepeatedStrides(const Dims& dims, const Dims& shape) {
  Dims strides(shape.size(), 0);
  kernels::BroadcastStrides(dims, shape, shape.rank() - dims.rank(), strides.data());
  return strides;
}

// The values repeated to `shape`; the tensor itself where it has that shape.
inline Tensor Repeated(const Tensor& t, const Dims& shape) {
  if (t.dims() == shape) return t;
  Tensor full(shape, t.dtype(), t.place());
  if (full.numel() > 0) {
    kernels::CopyStrided(shape, t.raw_data(), RepeatedStrides(t.dims(), shape),
                         full.mutable_raw_data(), Strides(shape), SizeOf(t.dtype()));
  }
  return full;
}

}  // namespace dygraph

// Sums over what was broadcast, and the way back; binary_sums.cc is compiled for each device.
#pragma once

#include "tensor/tensor.h"

namespace dygraph::elementwise {

// Sums `g` (shape of the result) over what was broadcast of an operand of shape `dims`, aligned as
// `aligned`.
template <class T>  // float, double and the complex types, on devices the 16-bit floats too
void ReduceTo(const Tensor& g, const Dims& aligned, Tensor* out);

// `t`, aligned as `aligned`, repeated to the shape and order of `like`; itself where nothing is to
// be repeated.
template <class T>  // the same
Tensor Expanded(const Tensor& t, const Dims& aligned, const Tensor& like);

}  // namespace dygraph::elementwise

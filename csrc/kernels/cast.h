// Conversion of arrays between element types.
#pragma once

#include <cstdint>

#include "kernels/convert.h"

namespace dygraph::kernels {

// n values of type `from` at x become values of type `to` at y. Throws where complex numbers would
// become real ones.
void Cast(DType from, const void* x, DType to, void* y, int64_t n);

}  // namespace dygraph::kernels

// kernels/transpose.h on the device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/span.h"

namespace dygraph::kernels {

// y, dense of shape (dims[perm[0]], dims[perm[1]], ...), gets the elements of x, dense of shape
// `dims`. Elements are 1, 2, 4, 8 or 16 bytes.
void Permute(const void* x, Span<const int64_t> dims, Span<const int> perm, void* y,
             size_t element_size);

// [n, c, hw] to [n, hw, c] and back; hw may be a product of any number of dimensions.
void NchwToNhwc(const void* x, int64_t n, int64_t c, int64_t hw, void* y, size_t element_size);
void NhwcToNchw(const void* x, int64_t n, int64_t c, int64_t hw, void* y, size_t element_size);

}  // namespace dygraph::kernels

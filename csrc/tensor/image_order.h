// Copies between the two orders of images, channels second and channels last.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dygraph {

// to [n, cols, rows] gets the transposed matrices of from [n, rows, cols]; elements of 1, 2, 4 or 8
// bytes.
void TransposeImages(const void* from, void* to, int64_t n, int64_t rows, int64_t cols,
                     size_t element_size);

}  // namespace dygraph

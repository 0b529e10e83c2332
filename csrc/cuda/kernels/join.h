// kernels/join.h on the device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/small_vector.h"

namespace dygraph::kernels {

// `from` holds [rows, width] elements, zeros where it is null.
struct JoinedPiece {
  const void* from;
  int64_t width;
};
using JoinedPieces = SmallVector<JoinedPiece, 6>;

// The rows of `to`, `row` elements each, are those of the pieces one after the other. Elements are
// of 1, 2, 4, 8 or 16 bytes.
void JoinRows(const JoinedPieces& pieces, int64_t rows, int64_t row, void* to, size_t element_size);

}  // namespace dygraph::kernels

// Rows of several tensors one after another.
#pragma once

#include <cstring>
#include <vector>

#include "tensor/tensor.h"

namespace dygraph {

struct RowRange {
  int64_t begin, end;
  int64_t count() const { return end - begin; }
};

// A run of rows of a tensor; of zeros where it is null.
struct RowPiece {
  const Tensor* from;
  RowRange rows;
};

// Puts the pieces, of `row` bytes a row, one after another.
inline void CopyRowPieces(const std::vector<RowPiece>& pieces, size_t row, char* to) {
  for (const RowPiece& p : pieces) {
    const size_t bytes = static_cast<size_t>(p.rows.count()) * row;
    if (bytes == 0) continue;
    if (p.from) {
      std::memcpy(to, static_cast<const char*>(p.from->raw_data()) + p.rows.begin * row, bytes);
    } else {
      std::memset(to, 0, bytes);
    }
    to += bytes;
  }
}

}  // namespace dygraph

// tril_indices and triu_indices.
#pragma once

#include "kernels/loops.h"
#include "op/op_registry.h"

namespace dygraph::triangle_indices {

constexpr int kOut = 0;

// The columns [first, last) of a row that lie in a triangle.
struct Columns {
  int64_t first, last;
};
DYGRAPH_INLINE Columns ColumnsOf(bool lower, int64_t row, int64_t columns, int64_t offset) {
  const int64_t at = row + offset;
  if (lower) return {0, std::min(std::max<int64_t>(at + 1, 0), columns)};
  return {std::min(std::max<int64_t>(at, 0), columns), columns};
}

// The sum of the numbers t < n, each raised to 0 or lowered to `most`.
DYGRAPH_INLINE int64_t SumBelow(int64_t n, int64_t most) {
  if (n <= 0) return 0;
  return n - 1 <= most ? n * (n - 1) / 2 : most * (most + 1) / 2 + (n - 1 - most) * most;
}
DYGRAPH_INLINE int64_t CountLower(int64_t rows, int64_t columns, int64_t offset) {
  offset = std::max(std::min(offset, columns), -rows - 1);  // further out nothing changes
  return SumBelow(rows + offset + 1, columns) - SumBelow(offset + 1, columns);
}

inline void InferShape(InferContext& ctx, bool lower, int64_t rows, int64_t columns, int64_t offset,
                       DType dtype) {
  ENFORCE(dtype == DType::kInt32 || dtype == DType::kInt64, Type,
          "the attribute dtype must be int32 or int64, got ", dtype);
  const int64_t count = lower ? CountLower(rows, columns, offset)
                              : rows * columns - CountLower(rows, columns, offset - 1);
  ctx.SetOutput(kOut, {2, count}, dtype);
}

template <class T>
void Compute(bool lower, int64_t rows, int64_t columns, int64_t offset, Tensor* out) {
  T* row_numbers = out->mutable_data<T>();
  T* column_numbers = row_numbers + out->dim(1);
  kernels::ForEach(rows, [=] DYGRAPH_FN(int64_t r) {
    const Columns c = ColumnsOf(lower, r, columns, offset);
    int64_t at =
        lower ? CountLower(r, columns, offset) : r * columns - CountLower(r, columns, offset - 1);
    for (int64_t k = c.first; k < c.last; ++k, ++at) {
      row_numbers[at] = static_cast<T>(r);
      column_numbers[at] = static_cast<T>(k);
    }
  });
}

}  // namespace dygraph::triangle_indices

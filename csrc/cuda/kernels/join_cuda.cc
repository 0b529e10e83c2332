#include "kernels/join.h"
#include "kernels/loops.h"
#include "kernels/strided_copy.h"

namespace dygraph::kernels {

void JoinRows(const JoinedPieces& pieces, int64_t rows, int64_t row, void* to,
              size_t element_size) {
  if (rows == 0 || row == 0) return;
  const int64_t size = static_cast<int64_t>(element_size), row_bytes = row * size;
  uint8_t* at = static_cast<uint8_t*>(to);
  for (const JoinedPiece& piece : pieces) {
    const int64_t bytes = piece.width * size;
    if (piece.from) {
      CopyRows(rows, piece.width, piece.from, piece.width, at, row, element_size);
    } else if (bytes > 0) {
      ForEach(rows * bytes,
              [=] DYGRAPH_FN(int64_t i) { at[i / bytes * row_bytes + i % bytes] = 0; });
    }
    at += bytes;
  }
}

}  // namespace dygraph::kernels

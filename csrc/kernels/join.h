// Pieces that lie side by side in the rows of one array: concatenation and stacking.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/small_vector.h"
#include "kernels/even_rows.h"
#include "kernels/parallel.h"

namespace dygraph::kernels {

// `from` holds [rows, width] elements, zeros where it is null.
struct JoinedPiece {
  const void* from;
  int64_t width;
};
using JoinedPieces = SmallVector<JoinedPiece, 6>;

namespace detail {

template <class U>
void JoinRows(const JoinedPieces& pieces, int64_t rows, int64_t row, U* to) {
  // A part of each row from `begin` to `end`, in the rows first to last.
  auto copy = [&](int64_t first, int64_t last, int64_t begin, int64_t end) {
    int64_t at = 0;
    for (const JoinedPiece& piece : pieces) {
      const int64_t low = std::max(begin, at), high = std::min(end, at + piece.width);
      U* y = to + first * row + low;
      if (low < high && piece.from) {
        const U* x = static_cast<const U*>(piece.from) + first * piece.width + (low - at);
        CopyEvenRows(x, piece.width, y, row, last - first, high - low);
      } else if (low < high) {
        for (int64_t r = first; r < last; ++r, y += row) std::fill_n(y, high - low, U(0));
      }
      at += piece.width;
    }
  };
  if (rows >= 16) {
    ParallelRows(rows, row, [&](int64_t first, int64_t last) { copy(first, last, 0, row); });
  } else {
    ParallelFor(row, std::max<int64_t>(1, Grain() / std::max<int64_t>(rows, 1)),
                [&](int64_t begin, int64_t end) { copy(0, rows, begin, end); });
  }
}

}  // namespace detail

// The rows of `to`, `row` elements each, are those of the pieces one after the other. Elements are
// of 1, 2, 4, 8 or 16 bytes.
inline void JoinRows(const JoinedPieces& pieces, int64_t rows, int64_t row, void* to,
                     size_t element_size) {
  if (rows == 0 || row == 0) return;
  if (element_size == 16) {  // twice 8
    JoinedPieces halves = pieces;
    for (JoinedPiece& piece : halves) piece.width *= 2;
    return detail::JoinRows(halves, rows, 2 * row, static_cast<uint64_t*>(to));
  }
  switch (element_size) {
    case 1: return detail::JoinRows(pieces, rows, row, static_cast<uint8_t*>(to));
    case 2: return detail::JoinRows(pieces, rows, row, static_cast<uint16_t*>(to));
    case 4: return detail::JoinRows(pieces, rows, row, static_cast<uint32_t*>(to));
    default: return detail::JoinRows(pieces, rows, row, static_cast<uint64_t*>(to));
  }
}

}  // namespace dygraph::kernels

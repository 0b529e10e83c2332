// Batches of sequences step by step: what the operators with a rank table share.
#pragma once

#include <string>
#include <vector>

#include "operators/control/array.h"
#include "operators/gather.h"

namespace dygraph::ranked {

std::string TextOf(const LoDLevels& lod);

using Rows = RowRange;
using Piece = RowPiece;

// The rows of sequences [begin, end) of `level`.
Rows RowsOf(const LoDLevels& lod, size_t level, int64_t begin, int64_t end);

// Appends what lies below sequences [begin, end) of `level`: lengths of the levels from there on.
// `to` has as many levels; each begins with 0.
void AppendBelow(const LoDLevels& lod, size_t level, int64_t begin, int64_t end, LoDLevels* to);
// Levels that hold nothing yet.
LoDLevels NoSequences(size_t levels);

// The levels of detail of `x`; where x has none, the table's, down to those whose number is that of
// its rows. InvalidArgument where its sequences are not those that the table was made of.
LoDLevels LevelsLike(const Tensor& x, const LoDRankTable& table, const char* slot);

// The pieces one after another, with rows of the size that `like` has.
inline Tensor Gather(const std::vector<Piece>& pieces, const Tensor& like, Place place) {
  int64_t rows = 0;
  for (const Piece& p : pieces) rows += p.rows.count();
  Dims dims = like.dims();
  dims[0] = rows;
  Tensor out(dims, like.dtype(), place);
  const size_t row = static_cast<size_t>(Numel(dims, 1, dims.rank())) * SizeOf(like.dtype());
  if (row > 0) CopyRowPieces(pieces, row, static_cast<char*>(out.mutable_raw_data()));
  return out;
}

// Of a step: the levels of detail of its element below the table's, one sequence each for the
// sequences that are longer than the step.
LoDLevels BelowStep(const LoDLevels& lod, const LoDRankTable& table, int64_t step);

}  // namespace dygraph::ranked

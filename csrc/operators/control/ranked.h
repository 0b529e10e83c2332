// Batches of sequences step by step: what the operators with a rank table share.
#pragma once

#include <string>
#include <vector>

#include "operators/control/array.h"

namespace dygraph::ranked {

std::string TextOf(const LoDLevels& lod);

// Rows [begin, end) that sequence i of `level` has.
struct Rows {
  int64_t begin, end;
  int64_t count() const { return end - begin; }
};
Rows RowsOf(const LoDLevels& lod, size_t level, int64_t begin, int64_t end);

// Appends what lies below sequences [begin, end) of `level`: lengths of the levels from there on.
// `to` has as many levels; each begins with 0.
void AppendBelow(const LoDLevels& lod, size_t level, int64_t begin, int64_t end, LoDLevels* to);
// Levels that hold nothing yet.
LoDLevels NoSequences(size_t levels);

// The levels of detail of `x`; where x has none, the table's, down to those whose number is that of
// its rows. InvalidArgument where its sequences are not those that the table was made of.
LoDLevels LevelsLike(const Tensor& x, const LoDRankTable& table, const char* slot);

// Row i of the result is a run of rows of one of several tensors.
struct Piece {
  const Tensor* from;
  Rows rows;
};
// The pieces one after another, with rows of the size that `like` has.
Tensor Gather(const std::vector<Piece>& pieces, const Tensor& like, Place place);

// Of a step: the levels of detail of its element below the table's, one sequence each for the
// sequences that are longer than the step.
LoDLevels BelowStep(const LoDLevels& lod, const LoDRankTable& table, int64_t step);

}  // namespace dygraph::ranked

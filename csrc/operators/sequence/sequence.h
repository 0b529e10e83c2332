// Sequences of a tensor with a level of detail, and rows that move as they are: most sequence
// operators pick runs of X's rows; their gradients add the runs back.
#pragma once

#include <algorithm>
#include <vector>

#include "op/op_registry.h"

namespace dygraph::sequence {

using Offsets = std::vector<int64_t>;

// The last level of a tensor's LoD: where its sequences begin and end.
inline const Offsets& LastLevel(const Tensor& x, const char* slot) {
  const LoDLevels& lod = x.lod_levels();
  ENFORCE(!lod.empty(), InvalidArgument, slot,
          " must have a level of detail, the lengths of its sequences, got none. Give it with "
          "to_variable(value, lod=[[0, 2, 5]]) or set_lod()");
  ENFORCE(x.rank() > 0 && lod.back().back() == x.dim(0), InvalidArgument, "the LoD of ", slot,
          " must end at its number of rows, got ", lod.back().back(), " for shape ", x.dims());
  return lod.back();
}

inline const Tensor& TensorOf(const Call& call, int slot) { return call.in.at(slot)->tensor(); }

inline int64_t Count(const Offsets& offsets) { return static_cast<int64_t>(offsets.size()) - 1; }

// `count` rows of the input from row `from` on, at row `to` of the output.
struct Run {
  int64_t from, to, count;
};

struct Moves {
  std::vector<Run> runs;
  int64_t rows = 0;  // of the output
  LoDLevels lod;     // of the output
  // Appends rows of the input to the output.
  void Add(int64_t from, int64_t count) {
    if (count > 0) runs.push_back({from, rows, count});
    rows += count;
  }
};

// Elements of a row.
inline int64_t WidthOf(const Dims& dims) { return Numel(dims, 1, dims.rank()); }

// The shape of X with another number of rows.
inline Dims WithRows(const Dims& x, int64_t rows) {
  ENFORCE(x.rank() > 0, InvalidArgument, "X must have rows, got shape ", x);
  Dims out = x;
  out[0] = rows;
  return out;
}

// What a LoD on rows stands for below the last level: the sequences of the level above.
inline LoDLevels UpperLevels(const LoDLevels& lod) {
  return LoDLevels(lod.begin(), lod.empty() ? lod.end() : lod.end() - 1);
}

}  // namespace dygraph::sequence

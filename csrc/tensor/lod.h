// Level-of-detail offsets: where the sequences of a ragged batch begin and end. Level 0 is the
// outermost; the last level counts rows of the tensor. [[0,5,8,10,14]] is four sequences of 5, 3, 2
// and 4 rows.
#pragma once

#include <cstdint>
#include <ostream>
#include <vector>

#include "base/ref.h"

namespace dygraph {

using LoDLevels = std::vector<std::vector<int64_t>>;

// Shared and immutable: copying a tensor's LoD is one count.
class LoD : public RefCounted<LoD> {
 public:
  explicit LoD(LoDLevels levels) : levels(std::move(levels)) {}
  const LoDLevels levels;
};

// InvalidArgument unless every level starts at 0, never falls, ends at the number of sequences of
// the next level, and the last one ends at `rows`.
void CheckLoD(const LoDLevels& levels, int64_t rows);
LoDLevels LengthsToOffsets(const LoDLevels& lengths);  // recursive sequence lengths -> offsets
LoDLevels OffsetsToLengths(const LoDLevels& offsets);
std::ostream& operator<<(std::ostream& out, const LoDLevels& levels);

}  // namespace dygraph

// By row: the rows of its sequence.
#pragma once

#include <vector>

#include "operators/sequence/sequence.h"

namespace dygraph::sequence {

struct RowBounds {
  int64_t begin, end;
};

inline std::vector<RowBounds> BoundsOf(const Offsets& offsets) {
  std::vector<RowBounds> bounds;
  for (int64_t s = 0; s < Count(offsets); ++s)
    bounds.insert(bounds.end(), static_cast<size_t>(offsets[s + 1] - offsets[s]),
                  {offsets[s], offsets[s + 1]});
  return bounds;
}

}  // namespace dygraph::sequence

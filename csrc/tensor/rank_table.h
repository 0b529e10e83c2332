// The sequences of a ragged batch by length, longest first: how steps over time leave out those
// that have ended.
#pragma once

#include <vector>

#include "tensor/lod.h"
#include "tensor/value_object.h"

namespace dygraph {

class LoDRankTable : public ValueObject {
 public:
  struct Item {
    int64_t index, length;  // which sequence it is, and how many elements of the level it has
  };
  // Of the sequences of this level, sorted by length, equal ones in their order. InvalidArgument
  // where there is no such level.
  LoDRankTable(const LoDLevels& lod, int level);

  const std::vector<Item>& items() const { return items_; }
  const LoDLevels& lod() const { return lod_; }  // all levels of the batch
  int level() const { return level_; }
  // How many sequences have more than `step` elements.
  int64_t LongerThan(int64_t step) const;

 private:
  std::vector<Item> items_;
  LoDLevels lod_;
  int level_;
};

}  // namespace dygraph

#include "tensor/rank_table.h"

#include <algorithm>

#include "base/enforce.h"

namespace dygraph {

LoDRankTable::LoDRankTable(const LoDLevels& lod, int level) : lod_(lod), level_(level) {
  ENFORCE(level >= 0 && level < static_cast<int>(lod.size()), InvalidArgument,
          "level must be one of the ", lod.size(), " levels of detail, got ", level,
          ". Give a variable made with to_variable(array, lod=...)");
  const std::vector<int64_t>& offsets = lod[level];
  for (size_t i = 0; i + 1 < offsets.size(); ++i)
    items_.push_back({static_cast<int64_t>(i), offsets[i + 1] - offsets[i]});
  std::stable_sort(items_.begin(), items_.end(),
                   [](const Item& a, const Item& b) { return a.length > b.length; });
}

int64_t LoDRankTable::LongerThan(int64_t step) const {
  auto end = std::partition_point(items_.begin(), items_.end(),
                                  [step](const Item& i) { return i.length > step; });
  return end - items_.begin();
}

}  // namespace dygraph

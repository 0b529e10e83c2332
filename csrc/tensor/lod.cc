#include "tensor/lod.h"

#include "base/enforce.h"

namespace dygraph {

std::ostream& operator<<(std::ostream& out, const LoDLevels& levels) {
  out << '[';
  for (size_t i = 0; i < levels.size(); ++i) {
    out << (i ? ", [" : "[");
    for (size_t k = 0; k < levels[i].size(); ++k) out << (k ? ", " : "") << levels[i][k];
    out << ']';
  }
  return out << ']';
}

void CheckLoD(const LoDLevels& levels, int64_t rows) {
  for (size_t i = 0; i < levels.size(); ++i) {
    const std::vector<int64_t>& level = levels[i];
    ENFORCE(!level.empty() && level[0] == 0, InvalidArgument, "level ", i,
            " of a LoD must start with 0, got ", levels, ". A LoD holds offsets, not lengths");
    for (size_t k = 1; k < level.size(); ++k) {
      ENFORCE(level[k] >= level[k - 1], InvalidArgument, "the offsets of level ", i,
              " of a LoD must not fall, got ", levels);
    }
    bool last = i + 1 == levels.size();
    int64_t end = last ? rows : static_cast<int64_t>(levels[i + 1].size()) - 1;
    ENFORCE(level.back() == end, InvalidArgument, "level ", i, " of a LoD must end at ", end,
            last ? ", the number of rows" : ", the number of sequences of the next level", ", got ",
            level.back(), " in ", levels);
  }
}

LoDLevels LengthsToOffsets(const LoDLevels& lengths) {
  LoDLevels offsets;
  for (const auto& level : lengths) {
    std::vector<int64_t> o{0};
    for (int64_t n : level) {
      ENFORCE(n >= 0, InvalidArgument, "sequence lengths must not be negative, got ", lengths);
      o.push_back(o.back() + n);
    }
    offsets.push_back(std::move(o));
  }
  return offsets;
}

LoDLevels OffsetsToLengths(const LoDLevels& offsets) {
  LoDLevels lengths;
  for (const auto& level : offsets) {
    std::vector<int64_t> n;
    for (size_t k = 1; k < level.size(); ++k) n.push_back(level[k] - level[k - 1]);
    lengths.push_back(std::move(n));
  }
  return lengths;
}

}  // namespace dygraph

#include "operators/control/ranked.h"

#include <sstream>

namespace dygraph::ranked {

std::string TextOf(const LoDLevels& lod) {
  std::ostringstream text;
  text << lod;
  return text.str();
}

Rows RowsOf(const LoDLevels& lod, size_t level, int64_t begin, int64_t end) {
  for (size_t l = level; l < lod.size(); ++l) {
    begin = lod[l][begin];
    end = lod[l][end];
  }
  return {begin, end};
}

void AppendBelow(const LoDLevels& lod, size_t level, int64_t begin, int64_t end, LoDLevels* to) {
  for (size_t l = level; l < lod.size(); ++l) {
    std::vector<int64_t>& offsets = (*to)[l - level];
    for (int64_t i = begin; i < end; ++i)
      offsets.push_back(offsets.back() + lod[l][i + 1] - lod[l][i]);
    begin = lod[l][begin];
    end = lod[l][end];
  }
}

LoDLevels NoSequences(size_t levels) { return LoDLevels(levels, std::vector<int64_t>{0}); }

namespace {

// Those of the table that `rows` rows can have: one row for each sequence of its level, or what the
// levels below say.
LoDLevels LevelsFor(int64_t rows, const LoDRankTable& table, const char* slot) {
  const LoDLevels &lod = table.lod(), outer(lod.begin(), lod.begin() + table.level() + 1);
  const int64_t pieces = outer.back().back(), all = lod.back().back();
  ENFORCE(rows == pieces || rows == all, InvalidArgument, slot,
          " without a level of detail must have the rows of the batch that the table was made of, ",
          all, ", got ", rows);
  if (rows != all) return outer;
  for (int64_t i = 0; rows == pieces && i < pieces; ++i) {
    ENFORCE(RowsOf(lod, outer.size(), i, i + 1).count() == 1, InvalidArgument, slot,
            " must have a level of detail where the table has ", lod.size(), ", got none");
  }
  return lod;
}

}  // namespace

LoDLevels LevelsLike(const Tensor& x, const LoDRankTable& table, const char* slot) {
  ENFORCE(x.rank() > 0, InvalidArgument, slot, " must have rows, got shape ", x.dims());
  if (!x.lod()) return LevelsFor(x.dim(0), table, slot);
  const LoDLevels& lod = x.lod_levels();
  const size_t level = table.level();
  ENFORCE(lod.size() > level, InvalidArgument, slot, " must have the level of detail ", level,
          ", which the table was made of, got ", lod.size(), " levels");
  const std::vector<int64_t>& offsets = lod[level];
  bool same = offsets.size() == table.items().size() + 1;
  for (size_t i = 0; same && i < table.items().size(); ++i) {
    const LoDRankTable::Item& item = table.items()[i];
    same = offsets[item.index + 1] - offsets[item.index] == item.length;
  }
  ENFORCE(same, InvalidArgument, slot, " must have the sequences that the table was made of, ",
          TextOf(table.lod()), ", got ", TextOf(lod),
          ". Make a table of this batch with lod_rank_table()");
  return lod;
}

LoDLevels BelowStep(const LoDLevels& lod, const LoDRankTable& table, int64_t step) {
  const size_t level = table.level();
  LoDLevels below = NoSequences(lod.size() - level - 1);
  for (const LoDRankTable::Item& item : table.items()) {
    if (item.length <= step) break;
    const int64_t at = lod[level][item.index] + step;
    AppendBelow(lod, level + 1, at, at + 1, &below);
  }
  return below;
}

}  // namespace dygraph::ranked

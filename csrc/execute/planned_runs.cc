#include "execute/planned_runs.h"

#include <algorithm>

namespace dygraph::program {

size_t PlaceLifetimes(std::vector<Lifetime>* blocks) {
  std::vector<Lifetime*> order;
  for (Lifetime& b : *blocks) order.push_back(&b);
  std::stable_sort(order.begin(), order.end(),
                   [](const Lifetime* a, const Lifetime* b) { return a->bytes > b->bytes; });
  size_t end = 0;
  std::vector<const Lifetime*> placed;  // by address
  for (Lifetime* block : order) {
    size_t at = 0;
    for (const Lifetime* other : placed) {
      if (other->first > block->last || block->first > other->last) continue;
      if (at + block->bytes <= other->place) break;
      at = std::max(at, other->place + other->bytes);
    }
    block->place = at;
    end = std::max(end, at + block->bytes);
    auto behind = std::upper_bound(placed.begin(), placed.end(), at,
                                   [](size_t a, const Lifetime* b) { return a < b->place; });
    placed.insert(behind, block);
  }
  return end;
}

}  // namespace dygraph::program

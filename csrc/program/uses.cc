#include "program/uses.h"

#include <algorithm>
#include <utility>


namespace dygraph::program {

namespace {

std::vector<const OpDesc*> Each(const Items<OpDesc>& ops) {
  std::vector<const OpDesc*> each;
  each.reserve(ops.size());
  for (const OpDesc& op : ops) each.push_back(&op);
  return each;
}

std::vector<const OpDesc*> Each(const Block& block) {
  std::vector<const OpDesc*> each;
  each.reserve(block.ops().size());
  for (const OpRef& op : block.ops()) each.push_back(&op->desc());
  return each;
}

}  // namespace

Uses::Uses(std::vector<const OpDesc*> ops) : ops_(std::move(ops)) {
  for (size_t i = 0; i < ops_.size(); ++i) {
    ForNames(ops_[i]->inputs, [&](const std::string& n) { names_[n].readers.push_back(i); });
    ForNames(ops_[i]->outputs, [&](const std::string& n) { names_[n].writers.push_back(i); });
  }
}

Uses::Uses(const Items<OpDesc>& ops) : Uses(Each(ops)) {}

Uses::Uses(const Block& block) : Uses(Each(block)) {}

const Uses::Of& Uses::Find(const std::string& name) const {
  static const Of none;
  auto at = names_.find(name);
  return at == names_.end() ? none : at->second;
}

const std::vector<size_t>& Uses::WritersOf(const std::string& name) const {
  return Find(name).writers;
}

const std::vector<size_t>& Uses::ReadersOf(const std::string& name) const {
  return Find(name).readers;
}

std::vector<bool> Uses::LeadTo(const std::vector<std::string>& names,
                               const std::unordered_set<std::string>& ends,
                               Writers which) const {
  std::vector<bool> found(ops_.size());
  std::vector<size_t> stack;
  std::unordered_map<const Of*, size_t> looked;  // how many of the writers
  auto visit = [&](const std::string& name, size_t reader) {
    const Of& of = Find(name);
    if (of.writers.empty()) return;
    const auto end = which == Writers::kLast
                         ? of.writers.end()
                         : std::lower_bound(of.writers.begin(), of.writers.end(), reader);
    const auto count = static_cast<size_t>(end - of.writers.begin());
    size_t& first = looked[&of];
    if (which == Writers::kLast) first = std::max(first, count - 1);
    for (; first < count; ++first) {
      size_t i = of.writers[first];
      if (found[i]) continue;
      found[i] = true;
      stack.push_back(i);
    }
  };
  for (const std::string& name : names) visit(name, ops_.size());
  while (!stack.empty()) {
    size_t i = stack.back();
    stack.pop_back();
    ForNames(ops_[i]->inputs, [&](const std::string& name) {
      if (!ends.count(name)) visit(name, i);
    });
  }
  return found;
}

}  // namespace dygraph::program

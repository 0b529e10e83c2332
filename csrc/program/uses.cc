#include "program/uses.h"

#include <utility>

#include "program/op_binding.h"

namespace dygraph::program {

namespace {

std::vector<const OpDesc*> Each(const Items<OpDesc>& ops) {
  std::vector<const OpDesc*> each;
  each.reserve(ops.size());
  for (const OpDesc& op : ops) each.push_back(&op);
  return each;
}

template <class F>
void ForNames(const std::vector<OpDesc::Var>& slots, F&& f) {
  for (const OpDesc::Var& slot : slots) {
    for (const std::string& name : slot.arguments) {
      if (name != kEmptyName) f(name);
    }
  }
}

}  // namespace

Uses::Uses(std::vector<const OpDesc*> ops) : ops_(std::move(ops)) {
  for (size_t i = 0; i < ops_.size(); ++i) {
    ForNames(ops_[i]->inputs, [&](const std::string& n) { names_[n].readers.push_back(i); });
    ForNames(ops_[i]->outputs, [&](const std::string& n) { names_[n].writers.push_back(i); });
  }
}

Uses::Uses(const Items<OpDesc>& ops) : Uses(Each(ops)) {}

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
                               const std::unordered_set<std::string>& ends) const {
  std::vector<bool> found(ops_.size());
  std::vector<size_t> stack;
  auto visit = [&](const std::string& name) {
    const std::vector<size_t>& writers = WritersOf(name);
    if (writers.empty() || found[writers.back()]) return;
    found[writers.back()] = true;
    stack.push_back(writers.back());
  };
  for (const std::string& name : names) visit(name);
  while (!stack.empty()) {
    size_t i = stack.back();
    stack.pop_back();
    ForNames(ops_[i]->inputs, [&](const std::string& name) {
      if (!ends.count(name)) visit(name);
    });
  }
  return found;
}

}  // namespace dygraph::program

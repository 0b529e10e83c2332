#include "execute/op_times.h"

#include <algorithm>
#include <tuple>

#include "execute/plan.h"

namespace dygraph::program {

void OpTimes::Add(const PlanOp* op, size_t count, uint64_t nanoseconds) {
  Sum& sum = sums_[op];
  sum.count = count;
  ++sum.calls;
  sum.nanoseconds += nanoseconds;
}

std::vector<OpTimes::Entry> OpTimes::Entries() const {
  std::vector<Entry> entries;
  for (const auto& [op, sum] : sums_) {
    Entry entry{"", op->block, op->position, sum.calls, sum.nanoseconds};
    auto add = [&](const PlanOp& one) {
      entry.operators += (entry.operators.empty() ? "" : "+") + one.desc->type;
    };
    for (size_t i = 0; i < sum.count; ++i) {
      if (op[i].parts.empty()) add(op[i]);
      for (const PlanOp& part : op[i].parts) add(part);
    }
    entries.push_back(std::move(entry));
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.block, a.position) < std::tie(b.block, b.position);
  });
  return entries;
}

}  // namespace dygraph::program

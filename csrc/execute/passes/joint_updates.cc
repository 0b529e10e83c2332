// Updates of optimizers that stand together and do not need each other run as one.
#include <algorithm>
#include <unordered_set>

#include "execute/plan_passes.h"

namespace dygraph::program {

namespace {

// An operator that writes the parameter it reads, in place.
bool IsUpdate(const Plan& plan, const PlanOp& op) {
  if (!op.parts.empty()) return false;
  for (auto [in, out] : op.info->in_place) {
    if (op.info->inputs[in].name != "Param" || op.info->outputs[out].name != "ParamOut") continue;
    int param = op.Input("Param");
    return param >= 0 && plan.slots[param].persistable && param == op.Output("ParamOut");
  }
  return false;
}

}  // namespace

// Neighbours that do not write what another one of them reads or writes.
void FindUpdates(Plan& plan) {
  for (size_t first = 0; first < plan.ops.size();) {
    std::unordered_set<int> read, written;
    auto joins = [&](const PlanOp& op) {
      if (!IsUpdate(plan, op)) return false;
      for (int s : op.in) {
        if (written.count(s)) return false;
      }
      return std::none_of(op.out.begin(), op.out.end(),
                          [&](int s) { return read.count(s) || written.count(s); });
    };
    size_t end = first;
    for (; end < plan.ops.size() && joins(plan.ops[end]); ++end) {
      for (int s : plan.ops[end].in) {
        if (s >= 0) read.insert(s);
      }
      for (int s : plan.ops[end].out) {
        if (s >= 0) written.insert(s);
      }
    }
    if (end > first + 1) plan.ops[first].updates = static_cast<int>(end - first);
    first = std::max(end, first + 1);
  }
}

}  // namespace dygraph::program

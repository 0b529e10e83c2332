// Neighbours that are pointwise form a chain, which may run block by block (execute/chain.h).
#include "execute/plan_passes.h"
#include "op/pointwise.h"

namespace dygraph::program {

namespace {

// What a call of it does beside its kernel, no chain does.
bool Joins(const PlanOp& op) {
  const OpInfo& info = *op.info;
  return IsPointwise(info.type) && info.allocates && !info.random && !op.control &&
         op.parts.empty() && !op.as_end && op.open.empty() && op.staged.empty() && !op.kept &&
         !op.lenient && op.updates == 0;
}

}  // namespace

void FindChains(Plan& plan) {
  for (size_t first = 0; first < plan.ops.size();) {
    size_t end = first;
    while (end < plan.ops.size() && Joins(plan.ops[end])) ++end;
    if (end > first + 1) plan.ops[first].chain = static_cast<int>(end - first);
    first = end + 1;
  }
}

}  // namespace dygraph::program

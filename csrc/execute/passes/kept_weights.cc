// A weight that only other programs may change is kept in the form its kernel likes: in place of
// the plain one, if no other operator reads it.
#include "execute/plan_passes.h"

namespace dygraph::program {

void FindKeptWeights(Plan& plan) {
  const PlanUses uses(plan, PlanUses::Of::kPartsToo);
  for (PlanOp& op : plan.ops) {
    for (size_t slot = 0; slot < op.info->inputs.size(); ++slot) {
      uint32_t begin = slot ? op.in_ends[slot - 1] : 0;
      if (!op.info->inputs[slot].weight() || op.in_ends[slot] != begin + 1) continue;
      int s = op.in[begin];
      if (s < 0 || !plan.slots[s].persistable || uses.written[s]) continue;
      op.kept = std::make_unique<KeptForm>();
      if (uses.readers[s] == 1) op.weight = static_cast<int>(begin);
    }
  }
}

}  // namespace dygraph::program

// Where an addition that ends the kernel before it is the last that reads its other array, the
// result may replace that array: in programs that may be begun anew.
#include "execute/plan_passes.h"

namespace dygraph::program {

void FindSpentAdditions(Plan& plan) {
  for (const PlanOp& op : plan.ops) {
    if (op.info->type == "py_func" || op.info->type == "print") return;
    for (int s : op.out) {
      if (s >= 0 && plan.slots[s].persistable) return;
    }
  }
  for (size_t i = 1; i < plan.ops.size(); ++i) {
    PlanOp& op = plan.ops[i];
    const int z = op.as_end && op.info->type == "fused_bn_add_activation" ? op.Input("Z") : -1;
    if (z >= 0 && op.Ends(z) && !plan.ops[i - 1].Reads(z)) op.into = z;
  }
}

}  // namespace dygraph::program

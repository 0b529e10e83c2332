#include "execute/plan_passes.h"

namespace dygraph::program {

Span<const PlanPass> PlanPasses() {
  static constexpr PlanPass kPasses[] = {
      {"fuse_batch_norms", "batch_norm, perhaps an addition, and relu: one operator",
       FuseBatchNorms},
      {"join_epilogues", "operators whose steps the kernel of the convolution before them does",
       JoinEpilogues},
      {"last_uses", "how long temporaries live, and their data", FindLastUses},
      {"spent_inputs", "results that are written over inputs", FindSpentInputs},
      {"spent_additions", "results of joined operators that are written over the summand",
       FindSpentAdditions},
      {"kept_weights", "weights that are kept in the form of their kernels", FindKeptWeights},
      {"joint_updates", "neighbouring updates whose loops run together", FindUpdates},
  };
  return {kPasses, sizeof(kPasses) / sizeof(kPasses[0])};
}

PlanUses::PlanUses(const Plan& plan, Of which)
    : readers(plan.slots.size()), written(plan.slots.size()) {
  auto look = [&](const PlanOp& op) {
    for (int s : op.in) {
      if (s >= 0) ++readers[s];
    }
    for (int s : op.out) {
      if (s >= 0) written[s] = true;
    }
  };
  for (const PlanOp& op : plan.ops) {
    look(op);
    for (const PlanOp& part : op.parts) {
      if (which == Of::kPartsToo) look(part);
    }
  }
  for (int s : plan.fetches) ++readers[s];
}

}  // namespace dygraph::program

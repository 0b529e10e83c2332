#include "execute/plan_passes.h"

namespace dygraph::program {

// In one list, for each relies on what those before it did, and what it finds is a field of PlanOp
// that the executor obeys: a pass comes with its field and with the code that runs it.
void RunPlanPasses(Plan& plan) {
  // Operators are put together and moved.
  FuseBatchNorms(plan);
  JoinEpilogues(plan);  // those that were put together too
  // From here on they stay where they are: places in the list are noted.
  FindLastUses(plan);
  FindSpentInputs(plan);     // by last uses
  FindSpentAdditions(plan);  // by last uses and epilogues
  FindKeptWeights(plan);
  FindUpdates(plan);
  FindChains(plan);
}

PlanUses::PlanUses(const Plan& plan, Of which)
    : readers(plan.slots.size()), written(plan.slots.size()) {
  auto look = [&](const PlanOp& op) {
    if (EndsValues(op)) return;
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
  for (int s : plan.written_outside) written[s] = true;
}

}  // namespace dygraph::program

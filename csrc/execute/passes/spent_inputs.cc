// A call puts its result where an input was, if the operator can and the memory has no other
// holder.
#include <algorithm>

#include "execute/plan_passes.h"

namespace dygraph::program {

void FindSpentInputs(Plan& plan) {
  for (PlanOp& op : plan.ops) {
    for (size_t pair = 0; pair < op.info->in_place.size(); ++pair) {
      auto [in_slot, out_slot] = op.info->in_place[pair];
      uint32_t in = in_slot ? op.in_ends[in_slot - 1] : 0,
               out = out_slot ? op.out_ends[out_slot - 1] : 0;
      if (in >= op.in_ends[in_slot] || out >= op.out_ends[out_slot] || op.out[out] < 0) continue;
      int slot = op.in[in];
      if (slot >= 0 && op.Ends(slot) && op.out[out] != slot &&
          std::count(op.in.begin(), op.in.end(), slot) == 1) {
        op.reuse |= 1u << pair;
      }
    }
  }
}

}  // namespace dygraph::program

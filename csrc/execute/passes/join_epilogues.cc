// Operators whose steps the kernel of a convolution can do before it writes its result. The
// convolution moves down to the operator that follows it.
#include <algorithm>

#include "execute/plan_passes.h"

namespace dygraph::program {

void JoinEpilogues(Plan& plan) {
  const PlanUses uses(plan, PlanUses::Of::kOperators);
  constexpr size_t kFarthest = 8;  // operators that may lie between the two
  for (size_t end = 1; end < plan.ops.size(); ++end) {
    PlanOp& last = plan.ops[end];
    MakeEpilogue make = FindEpilogue(last.info->type);
    if (!make || (last.parts.empty() && !HasFixedStatistics(plan, last, uses.readers))) continue;
    const int x = last.Input("X"), y = last.Output("Y");
    if (x < 0 || y < 0 || x == y || plan.slots[y].persistable || plan.slots[x].persistable ||
        uses.readers[x] != 1 || !last.staged.empty()) {
      continue;
    }
    // The last operator that writes x; nothing from there on may write what it reads.
    size_t first = end;
    const size_t earliest = end > kFarthest ? end - kFarthest : 0;
    while (first > earliest && !plan.ops[first - 1].Writes(x)) --first;
    if (first == earliest) continue;
    --first;
    const PlanOp& conv = plan.ops[first];
    if (conv.info->type != "conv2d" && conv.info->type != "depthwise_conv2d") continue;
    bool free = conv.as_end == nullptr && conv.staged.empty() && conv.Output("Output") == x;
    for (size_t i = first + 1; free && i < end; ++i) {
      for (int s : plan.ops[i].out) free &= s < 0 || !conv.Reads(s);
    }
    if (!free) continue;
    std::rotate(plan.ops.begin() + first, plan.ops.begin() + first + 1, plan.ops.begin() + end);
    last.as_end = make;
  }
}

}  // namespace dygraph::program

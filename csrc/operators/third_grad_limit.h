// What the recipe of a third gradient says that has no gradient of its own.
#pragma once

#include "op/op_registry.h"

namespace dygraph {

// An error for every input of the operator.
inline void RefuseFourthOrder(GradBuilder& g) {
  RecipeSlot arriving;
  for (size_t slot = 0; slot < g.op().outputs.size(); ++slot) {
    for (RecipeRef r : g.OutputGrads(static_cast<int>(slot))) arriving.push_back(r);
  }
  for (int slot = 0; slot < static_cast<int>(g.op().inputs.size()); ++slot) {
    for (int i = 0; i < g.InputCount(slot); ++i) {
      if (g.Wants(slot, i)) g.Call("third_grad_limit", {arriving}, {g.InputGrad(slot, i)});
    }
  }
}

}  // namespace dygraph

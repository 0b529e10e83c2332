// What the recipe of a third gradient says that has no gradient of its own.
#pragma once

#include "op/op_registry.h"

namespace dygraph {

// For every input of an operator with `inputs` and `outputs` slots an error.
inline void RefuseFourthOrder(GradBuilder& g, int inputs, int outputs) {
  RecipeSlot arriving;
  for (int slot = 0; slot < outputs; ++slot) {
    for (RecipeRef r : g.OutputGrads(slot)) arriving.push_back(r);
  }
  for (int slot = 0; slot < inputs; ++slot) {
    for (int i = 0; i < g.InputCount(slot); ++i) {
      if (g.Wants(slot, i)) g.Call("third_grad_limit", {arriving}, {g.InputGrad(slot, i)});
    }
  }
}

}  // namespace dygraph

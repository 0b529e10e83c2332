// Inputs that a gradient recipe leaves without a call.
#pragma once

#include "op/grad_builder.h"

namespace dygraph {

class OpInfo;

// Whether a call of the recipe makes this input's gradient.
bool Serves(const Recipe& recipe, int slot, int index);

// What it means that the recipe of `op` has no call for this input slot. True: the derivative is
// zero everywhere, as that of relu_grad with respect to Out. False: undefined, as for Label of a
// loss and of its gradient: the forward operator gives that slot no gradient.
bool DerivativeIsZero(const OpInfo& op, int slot);

}  // namespace dygraph

// The gradient recipe of most operators, .Grad(CallGradient): one call of the operator T_grad,
// whose slots are named after what they take. X and Out are the input and the output of T that are
// called so, Out@GRAD is what arrives at Out, and an output X@GRAD is the gradient of X. T_grad is
// given T's attributes where it is declared with AttrsOf(). Of a slot with kShapeOnly the tape
// keeps no data.
#pragma once

#include "op/op_info.h"

namespace dygraph {

void CallGradient(GradBuilder& g);

}  // namespace dygraph

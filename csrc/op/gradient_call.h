// The gradient recipe of most operators, .Grad(CallGradient): one call of the operator T_grad,
// whose slots say by their names what they take. X and Out are the input and the output of T that
// are called so, Out@GRAD is what arrives at Out, and an output X@GRAD is the gradient of X. T_grad
// is given T's attributes where it is declared with AttrsOf().
#pragma once

#include "op/op_info.h"
#include "op/rows_flag.h"

namespace dygraph {

// The flag of a gradient operator's slot that reads the sizes and the type of an input of T, not
// its data, so that the tape keeps none of it.
constexpr uint8_t kShapeOnly = 64;
static_assert(kShapeOnly > kRows, "kShapeOnly must be a bit of its own beside kRows");

void CallGradient(GradBuilder& g);

}  // namespace dygraph

// The names of the gradients that a backward pass has made.
#pragma once

#include "program/backward.h"

namespace dygraph::program {

// Gives the complete gradient of each variable its usual name, x@GRAD, which scripts fetch. Where a
// block goes on with a sum, or a variable holds several values in turn, an earlier term was made
// under that name; it takes the other one. Names that the program had before the pass stay.
void NameCompleteGradients(const Block& block, BackwardResult* result);

}  // namespace dygraph::program

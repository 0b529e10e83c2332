// Calls on symbolic variables are written into a program instead of computed.
#pragma once

#include "tape/layer.h"

namespace dygraph {

// The function that appends a call to the described program. Outputs are new symbolic variables
// with shape and type, which it names; an output with a target gets the target's name.
using DescribeCall = void (*)(const EagerCall& call);
void SetDescribeCall(DescribeCall describe);  // from the room that builds programs

}  // namespace dygraph

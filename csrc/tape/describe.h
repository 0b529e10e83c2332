// Calls on symbolic variables are written into a program instead of computed.
#pragma once

#include <string>

#include "tape/layer.h"

namespace dygraph {

// The function that appends a call to the described program. Outputs are new symbolic variables
// with shape and type, which it names; an output with a target gets the target's name.
using DescribeCall = void (*)(const EagerCall& call);
// The user's line that makes the call, for errors.
using DescribingLine = std::string (*)();
void SetDescribeCall(DescribeCall describe, DescribingLine line);  // from the room of programs

}  // namespace dygraph

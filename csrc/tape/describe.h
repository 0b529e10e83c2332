// Calls on symbolic variables are written into a program instead of computed.
#pragma once

#include <string>

#include "tape/layer.h"

namespace dygraph {

// What a program being described learns of a call: outputs are fresh symbolic variables with shape
// and type. It names them and writes the call down; an output with a target is written under the
// target's name.
using DescribeCall = void (*)(const EagerCall& call);
// The user's line that makes the call, for errors.
using DescribingLine = std::string (*)();
void SetDescribeCall(DescribeCall describe, DescribingLine line);  // from the room of programs

}  // namespace dygraph

// Calls on symbolic variables are written into a program instead of computed.
#pragma once

#include "tape/layer.h"

namespace dygraph {

// What a program being described learns of a call: outputs are fresh symbolic variables with shape
// and type. It names them and writes the call down; an output with a target is written under the
// target's name.
using DescribeCall = void (*)(const EagerCall& call);
void SetDescribeCall(DescribeCall describe);  // from the room that builds programs

}  // namespace dygraph

// The listener that records for backward().
#pragma once

#include "imperative/door.h"

namespace dygraph {

// Adds a node for the call where an input needs a gradient.
void RecordOnTape(const CallRecord& call);

}  // namespace dygraph

// The listener that records for backward().
#pragma once

#include "imperative/door.h"

namespace dygraph {

// A value that nobody changes later: itself, or a copy where its memory belongs to somebody else.
Value Lasting(const Value& v);

// Adds a node for the call where an input needs a gradient.
void RecordOnTape(const CallRecord& call);

}  // namespace dygraph

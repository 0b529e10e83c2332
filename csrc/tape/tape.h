// The layer that records for backward().
#pragma once

#include "tape/layer.h"

namespace dygraph {

// A value that is not changed later: itself, or a copy where its memory belongs to others.
Value Lasting(const Value& v);

}  // namespace dygraph

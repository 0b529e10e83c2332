// The system allocator that is always there.
#pragma once

#include <memory>

#include "memory/memory.h"

namespace dygraph::memory {

std::unique_ptr<SystemAllocator> MakeHostAllocator(Place place);

}  // namespace dygraph::memory

// The system allocator that is always there.
#pragma once

#include <memory>

#include "memory/memory.h"

namespace dygraph::memory {

std::unique_ptr<SystemAllocator> MakeHostAllocator(Place place);

// Returns empty huge pages of the host to the system; they read as zeros when they are used again.
// Parts of a huge page stay, since returning them would split it.
constexpr size_t kHugePage = size_t{2} << 20;
void DropPages(void* begin, size_t bytes);
// Also returns freed memory that malloc holds.
void TrimHeap();

}  // namespace dygraph::memory

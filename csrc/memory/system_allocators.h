// The system allocator that is always there.
#pragma once

#include <memory>

#include "memory/memory.h"

namespace dygraph::memory {

std::unique_ptr<SystemAllocator> MakeHostAllocator(Place place);

// Whole huge pages of the host that hold nothing go back to the system; they come again, as zeros,
// when they are touched. Parts of one stay: to give them would split it.
constexpr size_t kHugePage = size_t{2} << 20;
void DropPages(void* begin, size_t bytes);
// What malloc holds of freed memory goes back too.
void TrimHeap();

}  // namespace dygraph::memory

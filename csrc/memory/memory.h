// Alloc, Free, Used, per Place. Blocks are 64-byte aligned; Alloc(place, 0) gives a block too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "platform/place.h"

namespace dygraph::memory {

// Safe from any thread; a block may be freed on another thread than allocated it. ResourceExhausted
// gives the requested bytes, those in use, the largest free block and the arenas' limit.
void* Alloc(Place place, size_t bytes);
// `bytes` is what Alloc was asked for. A null block is ignored.
void Free(Place place, void* block, size_t bytes);
size_t Used(Place place);

struct Stats {
  size_t used = 0;  // bytes asked for and not freed
  // Highest `used` since the start or ResetPeak. Exact while one thread allocates; with T threads
  // it may be low by 256 KB * (T - 1), because blocks up to 64 KB are counted per thread.
  size_t peak = 0;
  size_t reserved = 0;      // bytes of arenas taken from the system
  size_t largest_free = 0;  // largest block that can be had without a new arena
  size_t live_blocks = 0;   // allocations not freed
  size_t total_allocs = 0;  // since the start
  size_t arenas = 0;        // system allocations alive
};
Stats GetStats(Place place);
void ResetPeak(Place place);
// Returns free arenas to the system; gives the number of bytes. Small blocks cached by other
// threads come back at those threads' next refill or end.
size_t ReleaseFree(Place place);

// Where arenas come from. One per kind of place; a plug-in registers its own.
class SystemAllocator {
 public:
  virtual ~SystemAllocator() = default;
  virtual void* Alloc(size_t bytes) = 0;  // nullptr when there is none; aligned to 4096
  virtual void Free(void* block, size_t bytes) = 0;
  virtual size_t Total() const = 0;  // physical bytes of the device; arenas are a fraction of it
};
using SystemAllocatorFactory = std::function<std::unique_ptr<SystemAllocator>(Place)>;
// AlreadyExists for a taken kind.
void RegisterSystemAllocator(DeviceKind kind, SystemAllocatorFactory factory);

// Testing: the n-th Alloc from now fails with ResourceExhausted (0 turns it off).
void FailAllocation(uint64_t n);

}  // namespace dygraph::memory

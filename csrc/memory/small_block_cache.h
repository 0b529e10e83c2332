// The cache of one thread for freed blocks of one place up to 64 KB, a stack per size, and that
// thread's share of the counts. The blocks are not touched. The owner writes without locked
// instructions; other threads only read the counts, under the pool's lock.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>

#include "memory/buddy_allocator.h"

namespace dygraph::memory {

constexpr size_t kSmallBytes = size_t{64} << 10;
constexpr size_t kSmallClasses = 112;
static_assert(kSmallClasses == 16 + 6 * 16,
              "16 sizes up to 1 KB and for each power of two up to 64 KB");

inline uint32_t RefillCount(size_t size) {
  return static_cast<uint32_t>(std::clamp<size_t>((size_t{8} << 10) / size, 1, 32));
}

struct Pool;  // of the place

class SmallBlockCache {
 public:
  struct Bin {
    void** blocks = nullptr;
    uint32_t count = 0;
    uint32_t capacity = 0;  // 0 until the size is first used

    // Begins with room for 256 KB of this size, or 16 blocks. False when there is no memory for the
    // stack.
    bool Reserve(size_t size) {
      if (capacity) return true;
      return Resize(
          static_cast<uint32_t>(std::clamp<size_t>((size_t{256} << 10) / size, 16, 2048)));
    }
    bool Resize(uint32_t wanted) {
      void* moved = std::realloc(blocks, wanted * sizeof(void*));
      if (!moved) return false;
      blocks = static_cast<void**>(moved);
      capacity = wanted;
      return true;
    }
  };

  // Doubles a full bin's room: a loop that keeps thousands of values frees them all at once, and
  // asks for them again in the next step. What bins may grow by is bounded for a thread.
  bool Grow(Bin& bin, size_t size) {
    const size_t more = bin.capacity * size;
    if (grown_ + more > kMostGrown || !bin.Resize(2 * bin.capacity)) return false;
    grown_ += more;
    return true;
  }

  struct Counts {
    int64_t used = 0;
    int64_t peak = 0;  // highest `used` since the counts were last taken
    int64_t allocs = 0;
    int64_t frees = 0;
  };

  explicit SmallBlockCache(Pool* of) : pool(of) {}
  SmallBlockCache(const SmallBlockCache&) = delete;
  SmallBlockCache& operator=(const SmallBlockCache&) = delete;
  ~SmallBlockCache() {
    for (Bin& bin : bins) std::free(bin.blocks);
  }

  void* Pop(Bin& bin, size_t bytes) {
    void* block = bin.blocks[--bin.count];
    int64_t used = Get(used_) + static_cast<int64_t>(bytes);
    Set(used_, used);
    if (used > Get(peak_)) Set(peak_, used);
    Set(allocs_, Get(allocs_) + 1);
    ASAN_UNPOISON_MEMORY_REGION(block, bytes);  // a cached block may not be touched
    return block;
  }
  void Push(Bin& bin, void* block, size_t bytes) {
    bin.blocks[bin.count++] = block;
    Set(used_, Get(used_) - static_cast<int64_t>(bytes));
    Set(frees_, Get(frees_) + 1);
  }

  // Past this bound the counts go to the pool, so that the pool's peak is never low by more than it
  // for each thread.
  bool counts_are_far() const {
    return static_cast<uint64_t>(Get(used_) + kFar) > static_cast<uint64_t>(2 * kFar);
  }
  Counts counts() const { return {Get(used_), Get(peak_), Get(allocs_), Get(frees_)}; }
  Counts TakeCounts() {
    Counts taken = counts();
    Set(used_, 0);
    Set(peak_, 0);
    Set(allocs_, 0);
    Set(frees_, 0);
    return taken;
  }
  void ResetPeak() { Set(peak_, Get(used_)); }

  Pool* const pool;
  Bin bins[kSmallClasses];
  uint64_t release_requests = 0;

 private:
  using Count = std::atomic<int64_t>;
  static constexpr int64_t kFar = 256 << 10;
  static constexpr size_t kMostGrown = size_t{8} << 20;
  static int64_t Get(const Count& c) { return c.load(std::memory_order_relaxed); }
  static void Set(Count& c, int64_t value) { c.store(value, std::memory_order_relaxed); }

  size_t grown_ = 0;
  Count used_{0};
  Count peak_{0};
  Count allocs_{0};
  Count frees_{0};
};

}  // namespace dygraph::memory

// Powers-of-two blocks inside arenas: best fit, merging at free. All bookkeeping lies outside the
// arenas, so that device memory is never touched. Not thread-safe: memory.cc holds a lock per
// place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "memory/memory.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(block, bytes) ((void)(block), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(block, bytes) ((void)(block), (void)(bytes))
#endif

namespace dygraph::memory {

constexpr size_t kMaxBytes = size_t{1} << 46;  // more than any address space we meet

// Requests are rounded so that at most 1/16 is wasted above 1 KB; each power of two has 16 sizes.
inline int SizeShift(size_t last) { return 59 - __builtin_clzll(last | 1024); }
inline size_t RoundSize(size_t bytes) {
  size_t last = bytes - (bytes != 0);
  int shift = SizeShift(last);
  return ((last >> shift) + 1) << shift;
}
// The number of that size among all sizes, from 0 (64 bytes).
inline size_t SizeClass(size_t bytes) {
  size_t last = bytes - (bytes != 0);
  if (__builtin_expect(last < 1024, 1)) return last / 64;  // what follows gives the same
  int shift = SizeShift(last);
  return 16 * static_cast<size_t>(shift - 6) + (last >> shift);
}
inline size_t SizeOfClass(size_t i) {
  return i < 16 ? (i + 1) * 64 : (i % 16 + 17) << (i / 16 + 5);
}

// A set of block numbers that finds its smallest member in a few steps: bits, and a bit per
// non-empty word above.
class FreeSet {
 public:
  static size_t Words(size_t bits);
  void Init(uint64_t* words, size_t bits);  // the words are zero
  bool Has(size_t i) const { return level_[0][i / 64] >> (i % 64) & 1; }
  void Add(size_t i) {
    for (int k = 0; k < levels_; ++k, i /= 64) {
      uint64_t before = level_[k][i / 64];
      level_[k][i / 64] = before | uint64_t{1} << (i % 64);
      if (before) return;
    }
  }
  void Remove(size_t i) {
    for (int k = 0; k < levels_; ++k, i /= 64) {
      if (level_[k][i / 64] &= ~(uint64_t{1} << (i % 64))) return;
    }
  }
  bool empty() const { return !level_[levels_ - 1][0]; }
  template <class Visit>
  void ForEach(size_t bits, const Visit& visit) const {
    for (size_t word = 0; word * 64 < bits; ++word) {
      for (uint64_t rest = level_[0][word]; rest; rest &= rest - 1)
        visit(word * 64 + __builtin_ctzll(rest));
    }
  }
  size_t First() const {
    size_t i = 0;
    for (int k = levels_ - 1; k >= 0; --k) i = i * 64 + __builtin_ctzll(level_[k][i]);
    return i;
  }

 private:
  static constexpr int kMaxLevels = 7;  // 2^42 blocks
  uint64_t* level_[kMaxLevels] = {};
  int levels_ = 0;
};

// Bytes behind each block that stay poisoned, for AddressSanitizer.
#if defined(__SANITIZE_ADDRESS__)
constexpr size_t kRedZone = 64;
#else
constexpr size_t kRedZone = 0;
#endif

class BuddyAllocator {
 public:
  BuddyAllocator(Place place, std::unique_ptr<SystemAllocator> system, size_t red_zone = kRedZone);
  ~BuddyAllocator();

  // A block of RoundSize(bytes), or nullptr. It starts as the smallest sufficient power of two; the
  // rest after the rounded size is returned as smaller buddies.
  void* Alloc(size_t bytes);
  // Up to `most` such blocks, one behind the other where a free block holds them all; gives their
  // number. Each is freed by itself.
  uint32_t AllocSeveral(size_t bytes, uint32_t most, void** blocks);
  void Free(void* block, size_t bytes);
  size_t ReleaseFree();  // returns free arenas
  void DropFreePages();  // of the other arenas, where the place is the host

  size_t reserved() const { return reserved_; }
  size_t arenas() const { return arenas_.size(); }
  size_t largest_free() const;
  size_t Limit() const;           // bytes all arenas may take
  const char* LimitFlag() const;  // the name of the flag that sets it

 private:
  struct Arena;
  void* Take(size_t units);
  bool AddArena(size_t needed);
  bool AddArenaOf(size_t bytes);

  Place place_;
  std::unique_ptr<SystemAllocator> system_;
  size_t red_zone_;
  std::vector<std::unique_ptr<Arena>> arenas_;
  size_t reserved_ = 0;
};

}  // namespace dygraph::memory

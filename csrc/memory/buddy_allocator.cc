#include "memory/buddy_allocator.h"

#include <algorithm>
#include <cstdlib>

#include "base/enforce.h"
#include "base/flags.h"
#include "platform/device_flags.h"
#include "memory/system_allocators.h"

namespace dygraph {

FLAG(double, fraction_of_cpu_memory_to_use, 1.0, "share of physical memory that arenas may take");
FLAG(double, fraction_of_gpu_memory_to_use, 0.92,
     "share of a device's memory that arenas may take");

namespace memory {
namespace {

constexpr size_t kUnit = 64;  // the smallest block, and the alignment of all blocks
constexpr size_t kPage = 4096;
constexpr size_t kMinArena = size_t{64} << 20;
// From here on a block lies in the first arena that has room, so that later arenas stay untouched
// or become free as a whole. Smaller ones fit best.
constexpr size_t kLarge = (size_t{1} << 20) / kUnit;

int FloorLog2(size_t n) { return 63 - __builtin_clzll(n); }
int CeilLog2(size_t n) { return n <= 1 ? 0 : FloorLog2(n - 1) + 1; }

}  // namespace

size_t FreeSet::Words(size_t bits) {
  size_t words = 0;
  do {
    bits = (bits + 63) / 64;
    words += bits;
  } while (bits > 1);
  return words;
}

void FreeSet::Init(uint64_t* words, size_t bits) {
  levels_ = 0;
  do {
    bits = (bits + 63) / 64;
    level_[levels_++] = words;
    words += bits;
  } while (bits > 1);
}

// Positions and lengths are in units. A block of order k is 2^k units at a multiple of 2^k.
struct BuddyAllocator::Arena {
  char* base = nullptr;
  size_t units = 0;
  size_t free_units = 0;
  uint64_t orders = 0;  // bit k: some block of order k is free
  std::vector<FreeSet> free;
  std::unique_ptr<uint64_t, void (*)(void*)> words{nullptr, std::free};

  // False when there is no memory for the bookkeeping.
  bool Init(void* block, size_t bytes) {
    base = static_cast<char*>(block);
    units = bytes / kUnit;
    size_t sets = FloorLog2(units) + 1;
    size_t total = 0;
    for (size_t k = 0; k < sets; ++k) total += FreeSet::Words((units >> k) + 2);
    // Large, but its pages come at first use only.
    words.reset(static_cast<uint64_t*>(std::calloc(total, sizeof(uint64_t))));
    if (!words) return false;
    free.resize(sets);
    uint64_t* next = words.get();
    for (size_t k = 0; k < sets; ++k) {
      size_t bits = (units >> k) + 2;  // a buddy past the end may be asked for
      free[k].Init(next, bits);
      next += FreeSet::Words(bits);
    }
    GiveRun(0, units);
    return true;
  }

  bool whole() const { return free_units == units; }
  bool Contains(const void* p) const {
    return reinterpret_cast<uintptr_t>(p) - reinterpret_cast<uintptr_t>(base) < units * kUnit;
  }

  void AddBlock(int order, size_t i) {
    free[order].Add(i);
    orders |= uint64_t{1} << order;
  }
  void RemoveBlock(int order, size_t i) {
    free[order].Remove(i);
    if (free[order].empty()) orders &= ~(uint64_t{1} << order);
  }

  // Frees one block and merges it as far as its buddies are free.
  void GiveBlock(int order, size_t i) {
    int top = static_cast<int>(free.size()) - 1;
    for (; order < top && free[order].Has(i ^ 1); ++order, i /= 2) RemoveBlock(order, i ^ 1);
    AddBlock(order, i);
  }

  // Frees [begin, begin + length), as the largest blocks that lie at multiples of their size: an
  // allocation of its own is a run of decreasing order, one of several need not be.
  void GiveRun(size_t begin, size_t length) {
    free_units += length;
    for (const size_t end = begin + length; begin < end;) {
      int order = FloorLog2(end - begin);
      if (begin) order = std::min(order, __builtin_ctzll(begin));
      GiveBlock(order, begin >> order);
      begin += size_t{1} << order;
    }
  }

  // Takes `length` units from a free block of `order`; the tail becomes blocks of increasing order.
  // They cannot merge.
  size_t TakeFrom(int order, size_t length) {
    size_t i = free[order].First();
    RemoveBlock(order, i);
    size_t begin = i << order;
    size_t end = begin + (size_t{1} << order);
    for (size_t at = begin + length; at < end;) {
      int k = __builtin_ctzll(at);
      AddBlock(k, at >> k);
      at += size_t{1} << k;
    }
    free_units -= length;
    return begin;
  }

  // A whole arena serves a request that no single block of it can, as its length need not be a
  // power of two.
  size_t TakeStart(size_t length) {
    for (int k = 0; k < static_cast<int>(free.size()); ++k) {
      while (!free[k].empty()) RemoveBlock(k, free[k].First());
    }
    free_units = 0;
    for (size_t at = length; at < units;) {
      int k = std::min(__builtin_ctzll(at), FloorLog2(units - at));
      AddBlock(k, at >> k);
      free_units += size_t{1} << k;
      at += size_t{1} << k;
    }
    return 0;
  }
};

BuddyAllocator::BuddyAllocator(Place place, std::unique_ptr<SystemAllocator> system,
                               size_t red_zone)
    : place_(place), system_(std::move(system)), red_zone_(red_zone) {}

BuddyAllocator::~BuddyAllocator() {
  for (auto& arena : arenas_) {
    ASAN_UNPOISON_MEMORY_REGION(arena->base, arena->units * kUnit);
    system_->Free(arena->base, arena->units * kUnit);
  }
}

void* BuddyAllocator::Alloc(size_t bytes) {
  if (bytes > kMaxBytes) return nullptr;
  size_t units = RoundSize(bytes + red_zone_) / kUnit;
  void* block = Take(units);
  if (!block && (AddArena(units * kUnit) || (ReleaseFree() && AddArena(units * kUnit)))) {
    block = Take(units);
  }
  if (block) ASAN_UNPOISON_MEMORY_REGION(block, bytes);
  return block;
}

uint32_t BuddyAllocator::AllocSeveral(size_t bytes, uint32_t most, void** blocks) {
  const size_t each = RoundSize(bytes + red_zone_);
  for (uint32_t count = most; count > 1; count /= 2) {
    char* run = static_cast<char*>(Take(count * each / kUnit));
    if (!run) continue;
    for (uint32_t k = 0; k < count; ++k) {
      blocks[k] = run + k * each;
      ASAN_UNPOISON_MEMORY_REGION(blocks[k], bytes);
    }
    return count;
  }
  uint32_t count = 0;
  while (count < most && (blocks[count] = Alloc(bytes))) ++count;
  return count;
}

void* BuddyAllocator::Take(size_t units) {
  int order = CeilLog2(units);
  Arena* best = nullptr;
  int best_order = 64;
  for (auto& arena : arenas_) {
    uint64_t enough = arena->orders >> order << order;
    if (!enough || __builtin_ctzll(enough) >= best_order) continue;
    best = arena.get();
    best_order = __builtin_ctzll(enough);
    if (units >= kLarge) break;
  }
  if (best) return best->base + best->TakeFrom(best_order, units) * kUnit;
  for (auto& arena : arenas_) {
    if (arena->whole() && arena->units >= units) {
      return arena->base + arena->TakeStart(units) * kUnit;
    }
  }
  return nullptr;
}

void BuddyAllocator::Free(void* block, size_t bytes) {
  size_t units = RoundSize(bytes + red_zone_) / kUnit;
  for (auto& arena : arenas_) {
    if (!arena->Contains(block)) continue;
    ASAN_POISON_MEMORY_REGION(block, units * kUnit);
    arena->GiveRun((static_cast<char*>(block) - arena->base) / kUnit, units);
    return;
  }
  THROW(PreconditionNotMet, "the block freed on ", place_, " was not allocated there");
}

// Arenas grow with what is in use, so that there are few of them: at least 64 MB and a quarter of
// all so far, but no larger than the limit leaves, and smaller, down to just large enough, where
// the system gives no more.
bool BuddyAllocator::AddArena(size_t needed) {
  needed = (needed + kPage - 1) / kPage * kPage;
  size_t limit = Limit();
  size_t left = limit > reserved_ ? (limit - reserved_) / kPage * kPage : 0;
  if (needed > left) return false;
  size_t wanted = size_t{1} << CeilLog2(std::max({needed, kMinArena, reserved_ / 4}));
  if (place_.kind == DeviceKind::kCUDA) {
    const int64_t asked = arenas_.empty() ? FLAGS_initial_gpu_memory_in_mb
                                          : FLAGS_reallocate_gpu_memory_in_mb;
    if (asked > 0) wanted = std::max(needed, static_cast<size_t>(asked) << 20);
  }
  wanted = std::min(wanted, left);
  while (!AddArenaOf(wanted)) {
    if (wanted == needed) return false;
    wanted = std::max(needed, wanted / 2 / kPage * kPage);
  }
  return true;
}

bool BuddyAllocator::AddArenaOf(size_t bytes) {
  void* block = system_->Alloc(bytes);
  if (!block) return false;
  auto arena = std::make_unique<Arena>();
  if (!arena->Init(block, bytes)) {
    system_->Free(block, bytes);
    return false;
  }
  ASAN_POISON_MEMORY_REGION(block, bytes);
  arenas_.push_back(std::move(arena));
  reserved_ += bytes;
  return true;
}

size_t BuddyAllocator::ReleaseFree() {
  size_t before = reserved_;
  auto given_back = [this](const std::unique_ptr<Arena>& arena) {
    if (!arena->whole()) return false;
    size_t bytes = arena->units * kUnit;
    ASAN_UNPOISON_MEMORY_REGION(arena->base, bytes);
    system_->Free(arena->base, bytes);
    reserved_ -= bytes;
    return true;
  };
  arenas_.erase(std::remove_if(arenas_.begin(), arenas_.end(), given_back), arenas_.end());
  return before - reserved_;
}

void BuddyAllocator::DropFreePages() {
  if (place_.kind != DeviceKind::kCPU) return;
  for (auto& arena : arenas_) {
    for (size_t k = FloorLog2(kHugePage / kUnit); k < arena->free.size(); ++k) {
      arena->free[k].ForEach((arena->units >> k) + 2, [&](size_t i) {
        DropPages(arena->base + (i << k) * kUnit, kUnit << k);
      });
    }
  }
}

size_t BuddyAllocator::largest_free() const {
  size_t units = 0;
  for (auto& arena : arenas_) {
    if (arena->orders) units = std::max(units, size_t{1} << FloorLog2(arena->orders));
    if (arena->whole()) units = std::max(units, arena->units);
  }
  return units * kUnit;
}

size_t BuddyAllocator::Limit() const {
  bool host = place_.kind == DeviceKind::kCPU || place_.kind == DeviceKind::kCUDAPinned;
  double fraction =
      host ? FLAGS_fraction_of_cpu_memory_to_use : FLAGS_fraction_of_gpu_memory_to_use;
  if (!(fraction > 0)) return 0;  // also for a NaN
  double limit = fraction * static_cast<double>(system_->Total());
  return limit < static_cast<double>(kMaxBytes) ? static_cast<size_t>(limit) : kMaxBytes;
}

const char* BuddyAllocator::LimitFlag() const {
  bool host = place_.kind == DeviceKind::kCPU || place_.kind == DeviceKind::kCUDAPinned;
  return host ? "FLAGS_fraction_of_cpu_memory_to_use" : "FLAGS_fraction_of_gpu_memory_to_use";
}

}  // namespace memory
}  // namespace dygraph

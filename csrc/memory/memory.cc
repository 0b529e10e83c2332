#include "memory/memory.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/enforce.h"
#include "base/flags.h"
#include "memory/block_keeper.h"
#include "memory/buddy_allocator.h"
#include "memory/budget.h"
#include "memory/holders.h"
#include "memory/small_block_cache.h"
#include "memory/system_allocators.h"
#include "platform/backend.h"
#include "platform/device_context.h"

namespace dygraph::memory {

// One place: its buddy allocator and its counts, under one lock.
struct Pool {
  Pool(Place where, std::unique_ptr<SystemAllocator> system)
      : place(where), buddy(where, std::move(system)) {}

  void CountUsed(int64_t change) {
    used += change;
    peak = std::max(peak, used);
  }

  // On a device: the large blocks in use; those allocated while calls are watched have their maker.
  struct Held {
    size_t bytes;
    const std::string* maker;
  };
  void NoteBlock(const void* block, size_t bytes) {
    if (place != CPUPlace() && bytes >= kNotedBytes) held[block] = {bytes, nullptr};
  }
  void ForgetBlock(const void* block, size_t bytes) {
    if (place != CPUPlace() && bytes >= kNotedBytes) held.erase(block);
  }

  const Place place;
  std::mutex mutex;
  std::unordered_map<const void*, Held> held;
  BuddyAllocator buddy;
  int64_t used = 0;  // without what the caches still hold of their threads' counts
  int64_t peak = 0;
  int64_t allocs = 0;
  int64_t frees = 0;
  std::vector<SmallBlockCache*> caches;  // of living threads
  uint64_t release_requests = 0;         // each cache empties itself when it sees a new one
};

namespace {

std::atomic<uint64_t> g_fail_in{0};

// Pools and factories live until the process ends: static destructors and late threads still free
// blocks.
struct Pools {
  std::mutex mutex;
  SystemAllocatorFactory factories[kMaxDeviceKinds];
  std::atomic<Pool*> pools[kMaxDeviceKinds][256] = {};

  Pools() {
    factories[0] = MakeHostAllocator;
    pthread_atfork([] { LockAll(); }, [] { UnlockAll(); }, [] { UnlockAll(); });
  }

  template <class Visit>
  void ForEach(const Visit& visit) {
    for (auto& row : pools) {
      for (auto& slot : row) {
        if (Pool* pool = slot.load(std::memory_order_acquire)) visit(*pool);
      }
    }
  }
  static void LockAll();
  static void UnlockAll();
};

Pools& GetPools() {
  static Pools* pools = new Pools;
  return *pools;
}

// No lock may be held by a thread that the child will not have.
void Pools::LockAll() {
  GetPools().mutex.lock();
  GetPools().ForEach([](Pool& pool) { pool.mutex.lock(); });
}
void Pools::UnlockAll() {
  GetPools().ForEach([](Pool& pool) { pool.mutex.unlock(); });
  GetPools().mutex.unlock();
}

Pool& MakePool(Place place) {
  Pools& all = GetPools();
  size_t kind = static_cast<size_t>(place.kind);
  DeviceKindName(place.kind);  // throws for a kind that is not registered
  OpenBackend(place.kind);
  std::lock_guard<std::mutex> lock(all.mutex);
  std::atomic<Pool*>& slot = all.pools[kind][place.id];
  if (Pool* pool = slot.load(std::memory_order_acquire)) return *pool;
  if (!all.factories[kind]) ThrowNoBackend(place);
  Pool* pool = new Pool(place, all.factories[kind](place));
  slot.store(pool, std::memory_order_release);
  return *pool;
}

Pool& PoolOf(Place place) {
  size_t kind = static_cast<size_t>(place.kind);
  if (kind < kMaxDeviceKinds) {
    if (Pool* pool = GetPools().pools[kind][place.id].load(std::memory_order_acquire)) return *pool;
  }
  return MakePool(place);
}

std::string Readable(size_t bytes) {
  static const char* const kUnits[] = {"B", "KB", "MB", "GB", "TB", "PB", "EB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  for (; value >= 1024 && unit < 6; ++unit) value /= 1024;
  char text[32];
  std::snprintf(text, sizeof(text), unit ? "%.1f %s" : "%.0f %s", value, kUnits[unit]);
  return text;
}

// The three largest blocks of a device: "; the largest are 96.0 MB (matmul_v2, net.py:12), ...".
std::string LargestHolders(Pool& pool) {
  std::vector<Pool::Held> largest;
  {
    std::lock_guard<std::mutex> lock(pool.mutex);
    for (const auto& [block, held] : pool.held) largest.push_back(held);
  }
  const size_t count = std::min<size_t>(largest.size(), 3);
  std::partial_sort(largest.begin(), largest.begin() + count, largest.end(),
                    [](const Pool::Held& a, const Pool::Held& b) { return a.bytes > b.bytes; });
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    text += (i ? ", " : "; the largest blocks are ") + Readable(largest[i].bytes);
    if (largest[i].maker) text += " (" + *largest[i].maker + ")";
  }
  return text;
}

[[noreturn]] __attribute__((noinline, cold)) void ThrowExhausted(Pool& pool, size_t bytes,
                                                                 const char* why) {
  Stats stats = GetStats(pool.place);
  char fraction[32];
  FlagValue flag = GetFlag(pool.buddy.LimitFlag() + std::strlen("FLAGS_"));
  std::snprintf(fraction, sizeof(fraction), "%g", std::get<double>(flag));
  THROW(ResourceExhausted, "cannot allocate ", Readable(bytes), " on ", pool.place, ": ",
        Readable(stats.used), " in use (peak ", Readable(stats.peak), "), largest free block ",
        Readable(stats.largest_free), ", arenas may take ", Readable(pool.buddy.Limit()), " (",
        pool.buddy.LimitFlag(), "=", fraction, ")", LargestHolders(pool), why);
}

// True once, at the Alloc that FailAllocation named.
bool FailsNow() {
  uint64_t left = g_fail_in.load(std::memory_order_relaxed);
  while (left && !g_fail_in.compare_exchange_weak(left, left - 1)) {
  }
  return left == 1;
}

// ---- the calling thread's caches of small blocks, of the host and of the first CUDAPlaces ----

constexpr uint8_t kCachedDevices = 8;

__thread SmallBlockCache* t_cache __attribute__((tls_model("initial-exec"))) = nullptr;
__thread SmallBlockCache* t_device_caches[kCachedDevices]
    __attribute__((tls_model("initial-exec"))) = {};
__thread bool t_cache_ended __attribute__((tls_model("initial-exec"))) = false;
__thread Budget* t_budget __attribute__((tls_model("initial-exec"))) = nullptr;
__thread BlockKeeper* t_keeper __attribute__((tls_model("initial-exec"))) = nullptr;

bool IsCached(Place place) {
  return place == CPUPlace() || (place.kind == DeviceKind::kCUDA && place.id < kCachedDevices);
}

// Null where the thread has none yet, or never has.
inline SmallBlockCache* CacheOf(Place place) {
  if (__builtin_expect(place == CPUPlace(), 1)) return t_cache;
  return IsCached(place) ? t_device_caches[place.id] : nullptr;
}

// The same; null on a device whose blocks a graph keeps meanwhile.
inline SmallBlockCache* OpenCacheOf(Place place) {
  if (__builtin_expect(place == CPUPlace(), 1)) return t_cache;
  return t_keeper ? nullptr : CacheOf(place);
}

// The pool's lock is held.
void TakeCounts(Pool& pool, SmallBlockCache& cache) {
  SmallBlockCache::Counts counts = cache.TakeCounts();
  pool.peak = std::max(pool.peak, pool.used + counts.peak);
  pool.used += counts.used;
  pool.allocs += counts.allocs;
  pool.frees += counts.frees;
}

// Gives the older blocks of a bin back, all but `keep`. The pool's lock is held.
void Shrink(Pool& pool, SmallBlockCache::Bin& bin, size_t bytes, uint32_t keep) {
  if (bin.count <= keep) return;
  uint32_t given = bin.count - keep;
  for (uint32_t i = 0; i < given; ++i) pool.buddy.Free(bin.blocks[i], bytes);
  std::memmove(bin.blocks, bin.blocks + given, keep * sizeof(void*));
  bin.count = keep;
}

void Empty(Pool& pool, SmallBlockCache& cache) {
  for (size_t i = 0; i < kSmallClasses; ++i) Shrink(pool, cache.bins[i], SizeOfClass(i), 0);
}

void Sync(Pool& pool, SmallBlockCache& cache) {
  TakeCounts(pool, cache);
  if (cache.release_requests == pool.release_requests) return;
  cache.release_requests = pool.release_requests;
  Empty(pool, cache);
}

void EndCache(SmallBlockCache* cache) {
  Pool& pool = *cache->pool;
  {
    std::lock_guard<std::mutex> lock(pool.mutex);
    Sync(pool, *cache);
    Empty(pool, *cache);
    pool.caches.erase(std::find(pool.caches.begin(), pool.caches.end(), cache));
  }
  delete cache;
}

struct EndOfThread {
  ~EndOfThread() {
    t_cache_ended = true;
    if (SmallBlockCache* cache = std::exchange(t_cache, nullptr)) EndCache(cache);
    for (SmallBlockCache*& slot : t_device_caches) {
      if (SmallBlockCache* cache = std::exchange(slot, nullptr)) EndCache(cache);
    }
  }
};

// nullptr where there is no memory for one (Free may not throw then), and in the destructors that
// run after the thread's caches have ended.
SmallBlockCache* MakeCache(Pool& pool) {
  if (t_cache_ended) return nullptr;
  static thread_local EndOfThread at_end;
  (void)&at_end;
  std::unique_ptr<SmallBlockCache> cache(new (std::nothrow) SmallBlockCache(&pool));
  if (!cache) return nullptr;
  std::lock_guard<std::mutex> lock(pool.mutex);
  try {
    pool.caches.push_back(cache.get());
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  cache->release_requests = pool.release_requests;
  SmallBlockCache*& slot = pool.place == CPUPlace() ? t_cache : t_device_caches[pool.place.id];
  return slot = cache.release();
}

// Gives back what the calling thread keeps, then every arena that is wholly free. The pool's lock
// is held.
size_t ReleaseLocked(Pool& pool) {
  ++pool.release_requests;
  if (SmallBlockCache* cache = CacheOf(pool.place)) Sync(pool, *cache);
  return pool.buddy.ReleaseFree();
}

void* AllocFromPool(Pool& pool, size_t bytes) {
  {
    std::lock_guard<std::mutex> lock(pool.mutex);
    if (SmallBlockCache* cache = CacheOf(pool.place)) Sync(pool, *cache);
    void* block = pool.buddy.Alloc(bytes);
    if (!block && bytes <= kMaxBytes) {
      ReleaseLocked(pool);
      block = pool.buddy.Alloc(bytes);
    }
    if (block) {
      pool.CountUsed(static_cast<int64_t>(bytes));
      ++pool.allocs;
      pool.NoteBlock(block, bytes);
      return block;
    }
  }
  ThrowExhausted(pool, bytes, "");
}

void FreeToPool(Pool& pool, void* block, size_t bytes) {
  std::lock_guard<std::mutex> lock(pool.mutex);
  pool.buddy.Free(block, bytes);
  pool.ForgetBlock(block, bytes);
  pool.used -= static_cast<int64_t>(bytes);
  ++pool.frees;
}

// Fetches several blocks under one lock, the last of them for the caller.
void* Refill(SmallBlockCache& cache, size_t bytes) {
  Pool& pool = *cache.pool;
  size_t i = SizeClass(bytes);
  size_t size = SizeOfClass(i);
  SmallBlockCache::Bin& bin = cache.bins[i];
  if (!bin.Reserve(size)) return AllocFromPool(pool, bytes);
  {
    std::lock_guard<std::mutex> lock(pool.mutex);
    Sync(pool, cache);
    bin.count = pool.buddy.AllocSeveral(size, RefillCount(size), bin.blocks);
    for (uint32_t k = 0; k < bin.count; ++k) ASAN_POISON_MEMORY_REGION(bin.blocks[k], size);
    std::reverse(bin.blocks, bin.blocks + bin.count);  // low addresses first
  }
  if (!bin.count) return AllocFromPool(pool, bytes);
  return cache.Pop(bin, bytes);
}

__attribute__((noinline)) void* AllocSlow(Place place, size_t bytes) {
  if (t_budget) t_budget->Take(bytes);
  if (FailsNow()) {
    ThrowExhausted(PoolOf(place), bytes, " (this failure was asked for by FailAllocation)");
  }
  if (t_keeper && t_keeper->place() == place) {
    if (void* block = t_keeper->Take(bytes)) return block;
  }
  try {
    if (bytes <= kSmallBytes && IsCached(place)) {
      SmallBlockCache* cache = CacheOf(place);
      if (cache || (cache = MakeCache(PoolOf(place)))) {
        SmallBlockCache::Bin& bin = cache->bins[SizeClass(bytes)];
        return bin.count ? cache->Pop(bin, bytes) : Refill(*cache, bytes);
      }
    }
    return AllocFromPool(PoolOf(place), bytes);
  } catch (const std::bad_alloc&) {
    ThrowExhausted(PoolOf(place), bytes, ": no memory for the allocator's own bookkeeping");
  }
}

__attribute__((noinline)) void FreeSlow(Place place, void* block, size_t bytes) {
  if (t_budget) t_budget->Give(bytes);
  if (t_keeper && t_keeper->place() == place) return t_keeper->Keep(block, bytes);
  if (bytes <= kSmallBytes && IsCached(place)) {
    SmallBlockCache* cache = CacheOf(place);
    if (!cache) cache = MakeCache(PoolOf(place));
    size_t i = SizeClass(bytes);
    size_t size = SizeOfClass(i);
    if (cache && cache->bins[i].Reserve(size)) {
      SmallBlockCache::Bin& bin = cache->bins[i];
      if (bin.count == bin.capacity && !cache->Grow(bin, size)) {
        Pool& pool = *cache->pool;
        std::lock_guard<std::mutex> lock(pool.mutex);
        Sync(pool, *cache);
        Shrink(pool, bin, size, bin.capacity / 2);
      }
      ASAN_POISON_MEMORY_REGION(block, size);
      cache->Push(bin, block, bytes);
      return;
    }
  }
  FreeToPool(PoolOf(place), block, bytes);
}

__attribute__((noinline)) void SyncSlow(SmallBlockCache& cache) {
  std::lock_guard<std::mutex> lock(cache.pool->mutex);
  Sync(*cache.pool, cache);
}

}  // namespace

void* Alloc(Place place, size_t bytes) {
  SmallBlockCache* cache = OpenCacheOf(place);
  if (__builtin_expect(bytes <= kSmallBytes && cache && !t_budget, 1)) {
    SmallBlockCache::Bin& bin = cache->bins[SizeClass(bytes)];
    if (__builtin_expect(bin.count && !g_fail_in.load(std::memory_order_relaxed), 1)) {
      void* block = cache->Pop(bin, bytes);
      if (__builtin_expect(cache->counts_are_far(), 0)) SyncSlow(*cache);
      return block;
    }
  }
  return AllocSlow(place, bytes);
}

void Free(Place place, void* block, size_t bytes) {
  if (!block) return;
  SmallBlockCache* cache = OpenCacheOf(place);
  if (__builtin_expect(bytes <= kSmallBytes && cache && !t_budget, 1)) {
    SmallBlockCache::Bin& bin = cache->bins[SizeClass(bytes)];
    if (__builtin_expect(bin.count < bin.capacity, 1)) {
      ASAN_POISON_MEMORY_REGION(block, RoundSize(bytes));
      cache->Push(bin, block, bytes);
      if (__builtin_expect(cache->counts_are_far(), 0)) SyncSlow(*cache);
      return;
    }
  }
  FreeSlow(place, block, bytes);
}

Budget::Budget(size_t most)
    : most_(static_cast<int64_t>(std::min<size_t>(most, INT64_MAX))), outer_(t_budget) {
  if (most > 0) t_budget = this;
}
Budget::~Budget() { t_budget = outer_; }

void Budget::Take(size_t bytes) {
  ENFORCE(bytes <= kMaxBytes && held_ + static_cast<int64_t>(bytes) <= most_, ResourceExhausted,
          "cannot allocate ", Readable(bytes), ": ", Readable(std::max<int64_t>(held_, 0)),
          " of the limit of ", Readable(most_), " are in use");
  held_ += static_cast<int64_t>(bytes);
}

BlockKeeper::~BlockKeeper() {
  for (const auto& [bytes, blocks] : blocks_) {
    for (void* block : blocks) FreeToPool(PoolOf(place_), block, bytes);
  }
}

void* BlockKeeper::Take(size_t bytes) {
  auto at = blocks_.find(bytes);
  if (at == blocks_.end() || at->second.empty()) return nullptr;
  void* block = at->second.back();
  at->second.pop_back();
  bytes_ -= bytes;
  return block;
}

void BlockKeeper::Keep(void* block, size_t bytes) {
  blocks_[bytes].push_back(block);
  bytes_ += bytes;
}

bool BlockKeeper::TakeNext(void* block, size_t bytes) {
  std::vector<void*>& blocks = blocks_[bytes];
  auto at = std::find(blocks.begin(), blocks.end(), block);
  if (at == blocks.end()) return false;
  std::rotate(at, at + 1, blocks.end());
  return true;
}

BlockKeeper::Use::Use(BlockKeeper* keeper) : outer_(t_keeper) { t_keeper = keeper; }
BlockKeeper::Use::~Use() { t_keeper = outer_; }

size_t Used(Place place) { return GetStats(place).used; }

Stats GetStats(Place place) {
  Pool& pool = PoolOf(place);
  std::lock_guard<std::mutex> lock(pool.mutex);
  int64_t used = pool.used, peak = pool.peak, allocs = pool.allocs, frees = pool.frees;
  for (SmallBlockCache* cache : pool.caches) {
    SmallBlockCache::Counts counts = cache->counts();
    peak = std::max(peak, pool.used + counts.peak);
    used += counts.used;
    allocs += counts.allocs;
    frees += counts.frees;
  }
  Stats stats;
  stats.used = static_cast<size_t>(std::max<int64_t>(used, 0));
  stats.peak = static_cast<size_t>(std::max(peak, used));
  stats.reserved = pool.buddy.reserved();
  stats.largest_free = pool.buddy.largest_free();
  stats.live_blocks = static_cast<size_t>(std::max<int64_t>(allocs - frees, 0));
  stats.total_allocs = static_cast<size_t>(allocs);
  stats.arenas = pool.buddy.arenas();
  return stats;
}

void ResetPeak(Place place) {
  Pool& pool = PoolOf(place);
  std::lock_guard<std::mutex> lock(pool.mutex);
  int64_t used = pool.used;
  for (SmallBlockCache* cache : pool.caches) {
    cache->ResetPeak();
    used += cache->counts().used;
  }
  pool.peak = used;
}

size_t ReleaseFree(Place place) {
  Pool& pool = PoolOf(place);
  if (place == CPUPlace()) TrimHeap();
  std::lock_guard<std::mutex> lock(pool.mutex);
  size_t released = ReleaseLocked(pool);
  pool.buddy.DropFreePages();
  return released;
}

void RegisterSystemAllocator(DeviceKind kind, SystemAllocatorFactory factory) {
  const std::string& name = DeviceKindName(kind);
  Pools& all = GetPools();
  std::lock_guard<std::mutex> lock(all.mutex);
  SystemAllocatorFactory& slot = all.factories[static_cast<size_t>(kind)];
  ENFORCE(!slot, AlreadyExists, name, " has a system allocator already");
  slot = std::move(factory);
}

void NoteHolder(Place place, const void* block, const std::string* text) {
  Pool& pool = PoolOf(place);
  std::lock_guard<std::mutex> lock(pool.mutex);
  auto at = pool.held.find(block);
  if (at != pool.held.end()) at->second.maker = text;
}

void FailAllocation(uint64_t n) { g_fail_in = n; }

}  // namespace dygraph::memory

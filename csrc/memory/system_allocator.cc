// Host memory from the system: address space reserved at once, pages given at first touch.
#include <malloc.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <fstream>

#include "base/flags.h"
#include "memory/system_allocators.h"

namespace dygraph {

FLAG(bool, use_pinned_memory, false, "lock the pages of host arenas in physical memory");

namespace memory {
namespace {

// MLOCK_ONFAULT: lock pages as they are touched, not the whole arena at once.
constexpr unsigned kLockOnFault = 1;

void* Map(size_t bytes) {
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? nullptr : p;
}

// Aligned to huge pages where the address space allows it.
void* MapAligned(size_t bytes) {
  char* p = bytes < kHugePage ? nullptr : static_cast<char*>(Map(bytes + kHugePage));
  if (!p) return Map(bytes);
  size_t head = -reinterpret_cast<uintptr_t>(p) % kHugePage;
  if (head) munmap(p, head);
  munmap(p + head + bytes, kHugePage - head);
  return p + head;
}

class HostAllocator : public SystemAllocator {
 public:
  void* Alloc(size_t bytes) override {
    void* p = MapAligned(bytes);
    if (!p) return nullptr;
    madvise(p, bytes, MADV_HUGEPAGE);  // a wish: each page fault costs 1.5 us
    if (FLAGS_use_pinned_memory) Lock(p, bytes);
    return p;
  }
  void Free(void* block, size_t bytes) override { munmap(block, bytes); }
  // A container's limit counts as physical memory.
  size_t Total() const override {
    static const size_t total = [] {
      size_t bytes =
          static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
      for (const char* name :
           {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
        size_t limit = 0;
        if (std::ifstream(name) >> limit && limit > 0 && limit < bytes) bytes = limit;
      }
      return bytes;
    }();
    return total;
  }

 private:
  static void Lock(void* p, size_t bytes) {
    static std::atomic<bool> warned{false};
    if (syscall(SYS_mlock2, p, bytes, kLockOnFault) == 0 || warned.exchange(true)) return;
    std::fprintf(
        stderr,
        "dygraph: FLAGS_use_pinned_memory: the system does not let this process lock %zu MB more; "
        "pageable memory is used. Raise the limit with ulimit -l.\n",
        bytes >> 20);
  }
};

}  // namespace

std::unique_ptr<SystemAllocator> MakeHostAllocator(Place) {
  return std::make_unique<HostAllocator>();
}

void DropPages(void* begin, size_t bytes) {
  uintptr_t first = (reinterpret_cast<uintptr_t>(begin) + kHugePage - 1) / kHugePage * kHugePage;
  uintptr_t end = (reinterpret_cast<uintptr_t>(begin) + bytes) / kHugePage * kHugePage;
  if (first < end) madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
}

void TrimHeap() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

}  // namespace memory
}  // namespace dygraph

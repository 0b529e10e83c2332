// Kernels: the threads of a block run one after another on the stack of one fiber. A thread that
// waits for others keeps its fiber, and the rest goes on in another.
#include <cuda_runtime.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "state.h"

namespace pretend {

Index thread, block, block_dim, grid_dim;

namespace {

constexpr size_t kStack = 256 << 10, kGuard = 4096;
constexpr unsigned kMostThreads = 1024, kMostWarps = kMostThreads / 32;
constexpr size_t kMostShared = 228 << 10;

// Fibers ------------------------------------------------------------------------------------------

#if defined(__x86_64__) && !defined(PRETEND_UCONTEXT)
using Context = void*;  // the stack pointer; what a call has to keep lies there
// It ends with a jump, because a `ret` to another place than its call is mispredicted each time.
extern "C" void pretend_switch(Context* from, Context to);
asm(R"(
.text
.globl pretend_switch
.hidden pretend_switch
.type pretend_switch, @function
pretend_switch:
  pushq %rbp; pushq %rbx; pushq %r12; pushq %r13; pushq %r14; pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15; popq %r14; popq %r13; popq %r12; popq %rbx; popq %rbp
  popq %rcx
  jmpq *%rcx
.size pretend_switch, .-pretend_switch
)");
void Switch(Context* from, Context* to) { pretend_switch(from, *to); }
void Prepare(Context* context, char* stack, size_t bytes, void (*entry)()) {
  void** top = reinterpret_cast<void**>(stack + bytes);
  *--top = nullptr;
  *--top = reinterpret_cast<void*>(entry);
  for (int i = 0; i < 6; ++i) *--top = nullptr;
  *context = top;
}
#else
using Context = ucontext_t;
void Switch(Context* from, Context* to) { swapcontext(from, to); }
void Prepare(Context* context, char* stack, size_t bytes, void (*entry)()) {
  getcontext(context);
  context->uc_stack.ss_sp = stack;
  context->uc_stack.ss_size = bytes;
  context->uc_link = nullptr;
  makecontext(context, entry, 0);
}
#endif

struct Fiber {
  Context context;
};

// The block that runs -----------------------------------------------------------------------------

enum class Wait : uint8_t { kNone, kShuffle, kBallot };

struct BlockState {
  const Launched* launched = nullptr;
  unsigned count = 0, started = 0, done = 0;
  unsigned me = 0;  // number of the thread that runs
  Fiber* fibers[kMostThreads];
  Payload given[kMostThreads], got[kMostThreads];
  int source[kMostThreads];
  unsigned mask[kMostThreads];
  Wait wait[kMostThreads];
  // By warp: lanes that exist, that wait for an exchange, that are through.
  unsigned lanes[kMostWarps], waiting[kMostWarps], through[kMostWarps];
};
BlockState g_block;
std::vector<std::unique_ptr<Fiber>> g_fibers;
std::vector<Fiber*> g_idle;
Fiber* g_now = nullptr;
Context g_scheduler;
alignas(128) char g_shared[kMostShared];

void SetThread(unsigned i) {
  g_block.me = i;
  if (block_dim.y == 1 && block_dim.z == 1) {
    thread = {i, 0, 0};
  } else {
    thread = {i % block_dim.x, i / block_dim.x % block_dim.y, i / block_dim.x / block_dim.y};
  }
}

void FiberMain() {
  BlockState& b = g_block;
  for (;;) {
    while (b.started < b.count) {
      unsigned i = b.started++;
      SetThread(g_settings.reverse ? b.count - 1 - i : i);
      b.launched->RunThread();
      b.through[b.me / 32] |= 1u << b.me % 32;
      ++b.done;
    }
    g_idle.push_back(g_now);
    Switch(&g_now->context, &g_scheduler);
  }
}

Fiber* GetFiber() {
  if (g_idle.empty()) {
    void* memory = mmap(nullptr, kStack + kGuard, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) Die("no memory for the stack of a thread");
    mprotect(memory, kGuard, PROT_NONE);
    // Stacks begin at different lines of the cache.
    size_t bytes = kStack - g_fibers.size() % 64 * 192;
    g_fibers.push_back(std::make_unique<Fiber>());
    Prepare(&g_fibers.back()->context, static_cast<char*>(memory) + kGuard, bytes, FiberMain);
    return g_fibers.back().get();
  }
  Fiber* fiber = g_idle.back();
  g_idle.pop_back();
  return fiber;
}

void Resume(Fiber* fiber) {
  g_now = fiber;
  Switch(&g_scheduler, &fiber->context);
}

// Gives the turn away until somebody resumes this thread.
void Park() {
  unsigned me = g_block.me;
  g_block.fibers[me] = g_now;
  Switch(&g_now->context, &g_scheduler);
}

void Wake(unsigned i) {
  SetThread(i);
  Resume(g_block.fibers[i]);
}

void WaitForLanes(Wait wait, unsigned mask) {
  BlockState& b = g_block;
  unsigned me = b.me, lane = 1u << me % 32;
  if (!(mask & lane)) Die("a lane is missing in the mask of its own exchange, " + Where());
  b.mask[me] = mask;
  b.wait[me] = wait;
  b.waiting[me / 32] |= lane;
  Park();
}

// Lets the exchange of the lanes in `set` of a warp happen.
void Deliver(unsigned warp, unsigned set) {
  BlockState& b = g_block;
  Payload* given = b.given + warp * 32;
  unsigned yes = 0;
  for (unsigned l = 0; l < 32; ++l) yes |= (set >> l & 1) && given[l].low ? 1u << l : 0;
  for (unsigned l = 0; l < 32; ++l) {
    if (!(set >> l & 1)) continue;
    unsigned i = warp * 32 + l;
    if (b.wait[i] == Wait::kBallot) {
      b.got[i] = {yes, 0};
    } else if (b.wait[i] == Wait::kShuffle) {
      unsigned from = static_cast<unsigned>(b.source[i]) & 31;
      bool there = set >> from & 1;
      if (!there && g_settings.strict) {
        SetThread(i);
        Die("a lane reads from a lane that takes no part in the exchange, " + Where());
      }
      b.got[i] = given[there ? from : l];
    }
  }
}

// Goes on with the lanes of a warp whose partners have all come. False if there are none.
bool RunWarp(unsigned warp) {
  BlockState& b = g_block;
  bool any = false;
  for (;;) {
    unsigned set = 0;
    for (unsigned rest = b.waiting[warp]; rest; rest &= rest - 1) {
      unsigned i = warp * 32 + static_cast<unsigned>(__builtin_ctz(rest));
      unsigned named = b.mask[i] & b.lanes[warp];
      if ((named & b.through[warp]) && g_settings.strict) {
        SetThread(i);
        Die("a mask names lanes that have returned from the kernel, " + Where());
      }
      unsigned need = named & ~b.through[warp];
      if ((need & ~b.waiting[warp]) == 0) {
        set = need;
        break;
      }
    }
    if (!set) return any;
    any = true;
    Deliver(warp, set);
    b.waiting[warp] &= ~set;
    for (unsigned k = 0; k < 32; ++k) {
      unsigned l = g_settings.reverse ? 31 - k : k;
      if (set >> l & 1) Wake(warp * 32 + l);
    }
  }
}

void RunBlock() {
  BlockState& b = g_block;
  unsigned warps = (b.count + 31) / 32;
  b.started = b.done = 0;
  for (unsigned w = 0; w < warps; ++w) {
    unsigned left = b.count - w * 32;
    b.lanes[w] = left >= 32 ? 0xffffffffu : (1u << left) - 1;
    b.waiting[w] = b.through[w] = 0;
  }
  while (b.started < b.count) Resume(GetFiber());
  while (b.done < b.count) {
    bool any = false;
    for (unsigned k = 0; k < warps; ++k) any |= RunWarp(g_settings.reverse ? warps - 1 - k : k);
    if (any) continue;
    for (unsigned w = 0; w < warps; ++w) {
      if (!b.waiting[w]) continue;
      SetThread(w * 32 + static_cast<unsigned>(__builtin_ctz(b.waiting[w])));
      Die("lanes of a warp wait for others that stand at __syncthreads(), " + Where());
    }
    if (b.done > 0 && g_settings.strict) {
      Die("__syncthreads() was not reached by all threads of the block, kernel " +
          NameOf(b.launched->kernel()));
    }
    unsigned before[kMostWarps];
    std::memcpy(before, b.through, sizeof before);
    for (unsigned k = 0; k < b.count; ++k) {
      unsigned i = g_settings.reverse ? b.count - 1 - k : k;
      if (!(before[i / 32] >> i % 32 & 1)) Wake(i);
    }
  }
}

}  // namespace

std::string Where() {
  if (!g_block.launched) return "";
  auto text = [](const Index& i) {
    return "(" + std::to_string(i.x) + ", " + std::to_string(i.y) + ", " + std::to_string(i.z) +
           ")";
  };
  return "thread " + text(thread) + " of block " + text(block) + " of kernel " +
         NameOf(g_block.launched->kernel());
}

void Barrier() { Park(); }

void SyncWarp(unsigned mask) { WaitForLanes(Wait::kNone, mask); }

Payload Exchange(unsigned mask, const Payload& mine, int source) {
  unsigned me = g_block.me;
  g_block.given[me] = mine;
  g_block.source[me] = source;
  WaitForLanes(Wait::kShuffle, mask);
  return g_block.got[me];
}

unsigned Ballot(unsigned mask, bool mine) {
  unsigned me = g_block.me;
  g_block.given[me] = {mine, 0};
  WaitForLanes(Wait::kBallot, mask);
  return static_cast<unsigned>(g_block.got[me].low);
}

unsigned Lane() { return g_block.me % 32; }

void* DynamicShared() { return g_shared; }

void Launched::Run() {
  g_block.launched = this;
  g_block.count = block_.x * block_.y * block_.z;
  block_dim = {block_.x, block_.y, block_.z};
  grid_dim = {grid_.x, grid_.y, grid_.z};
  uint64_t blocks = uint64_t{grid_.x} * grid_.y * grid_.z;
  for (uint64_t k = 0; k < blocks; ++k) {
    uint64_t i = g_settings.reverse ? blocks - 1 - k : k;
    block = {static_cast<unsigned>(i % grid_.x), static_cast<unsigned>(i / grid_.x % grid_.y),
             static_cast<unsigned>(i / grid_.x / grid_.y)};
    if (shared_) std::memset(g_shared, 0xff, shared_);  // nobody may count on what was there
    RunBlock();
  }
  g_block.launched = nullptr;
}

}  // namespace pretend

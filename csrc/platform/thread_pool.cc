#include "platform/thread_pool.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>

#include "platform/interrupt.h"
#include "platform/thread_count.h"

namespace dygraph::detail {

__thread int t_serial __attribute__((tls_model("initial-exec"))) = 0;

namespace {

constexpr int kMostHelpers = 1023, kLoops = 16, kPieces = 64;

// Nanoseconds. Measured: benchmarks/threads.py.
constexpr int64_t kIdleSpin = 1000000;  // a helper looks for work this long before it sleeps,
constexpr int64_t kShortSpin = 5000;    // this long on a core that another process wants,
constexpr int64_t kInterrupted = 100000;  // which it knows by a gap between two looks
constexpr int64_t kWaitSpin = 50000;    // a caller waits this long for helpers before it sleeps
constexpr timespec kBetweenLooks{0, 50000000};  // for Ctrl-C, while it sleeps

int64_t Now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1000000000 + t.tv_nsec;
}

void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

void Wait(std::atomic<int>* word, int value, const timespec* most) {
  syscall(SYS_futex, reinterpret_cast<int*>(word), FUTEX_WAIT_PRIVATE, value, most, nullptr, 0);
}
void Wake(std::atomic<int>* word) {
  syscall(SYS_futex, reinterpret_cast<int*>(word), FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

struct SerialScope {
  SerialScope() { ++t_serial; }
  ~SerialScope() { --t_serial; }
};

// Loops are used again and never go away: a late helper may look at one that has ended.
struct alignas(64) Loop {
  std::atomic<bool> taken{false};
  std::atomic<int> helpers{0};
  void (*body)(void*, int64_t) = nullptr;
  void* state = nullptr;
  int64_t blocks = 0;
  int pieces = 0, sharers = 0;
  std::exception_ptr first;
  // A bit for each piece, and all those behind them.
  alignas(64) std::atomic<uint64_t> claimed{~uint64_t{0}}, finished{~uint64_t{0}};
  std::atomic<int> visitors{0};  // helpers that may still look at what stands above
  std::atomic<int> asleep{0};    // the caller waits
  std::atomic<bool> failed{false};

  bool HasWork() const { return claimed.load(std::memory_order_relaxed) != ~uint64_t{0}; }

  // A piece for a sharer, -1 if all are claimed. Each starts in a part of its own, so that it gets
  // the same memory in the next loop, and then takes from the others' ends.
  int Claim(int sharer) {
    const int begin = pieces * sharer / sharers, end = pieces * (sharer + 1) / sharers;
    const uint64_t own = begin < end ? ~uint64_t{0} >> (kPieces - end + begin) << begin : 0;
    uint64_t seen = claimed.load(std::memory_order_relaxed);
    for (;;) {
      const uint64_t left = ~seen;
      if (left == 0) return -1;
      const int piece = left & own ? __builtin_ctzll(left & own) : 63 - __builtin_clzll(left);
      if (claimed.compare_exchange_weak(seen, seen | uint64_t{1} << piece,
                                        std::memory_order_acq_rel, std::memory_order_relaxed))
        return piece;
    }
  }

  void RunPieces(int sharer) {
    interrupt::Part of_this_loop(&failed);
    for (int piece; (piece = Claim(sharer)) >= 0;) {
      if (!failed.load(std::memory_order_relaxed)) {
        try {
          const int64_t end = blocks * (piece + 1) / pieces;
          for (int64_t i = blocks * piece / pieces; i < end; ++i) {
            CheckInterrupt();
            body(state, i);
          }
        } catch (...) {
          Fail();
        }
      }
      const uint64_t bit = uint64_t{1} << piece;
      if ((finished.fetch_or(bit) | bit) == ~uint64_t{0} && sharer > 0 && asleep.exchange(0) == 1)
        Wake(&asleep);
    }
  }

  void Fail() {
    if (!failed.exchange(true)) first = std::current_exception();
  }

  // Helpers that have begun are waited for: first awake, then asleep, which gives a helper this
  // core that has lost its own.
  void AwaitHelpers() {
    if (finished.load() == ~uint64_t{0}) return;
    const int64_t start = Now();
    for (int turn = 0; finished.load() != ~uint64_t{0}; ++turn) {
      if (turn % 16 != 15 || Now() - start < kWaitSpin) {
        Pause();
        continue;
      }
      asleep.store(1);
      if (finished.load() != ~uint64_t{0}) Wait(&asleep, 1, &kBetweenLooks);
      asleep.store(0);
      try {
        CheckInterrupt();
      } catch (...) {
        Fail();
      }
    }
  }
};

struct alignas(64) Helper {
  std::atomic<int> asleep{0};
};

// Helpers look at these until the process ends.
Loop g_loops[kLoops];
std::atomic<uint32_t> g_open{0};  // loops that have or had unclaimed pieces a moment ago
std::atomic<Helper*> g_helpers[kMostHelpers];
std::atomic<int> g_started{0};

bool WorkFor(int helper) {
  for (uint32_t open = g_open.load(); open; open &= open - 1) {
    const Loop& loop = g_loops[__builtin_ctz(open)];
    if (loop.HasWork() && helper < loop.helpers.load(std::memory_order_relaxed)) return true;
  }
  return false;
}

bool Help(int helper) {
  for (uint32_t open = g_open.load(std::memory_order_acquire); open; open &= open - 1) {
    const int number = __builtin_ctz(open);
    Loop& loop = g_loops[number];
    if (!loop.HasWork() || helper >= loop.helpers.load(std::memory_order_relaxed)) continue;
    loop.visitors.fetch_add(1);
    // Only now a loop that is open is sure to stay as it is.
    const bool here = g_open.load() >> number & 1 && helper < loop.helpers.load();
    if (here) loop.RunPieces(helper + 1);
    loop.visitors.fetch_sub(1);
    if (here) return true;
  }
  return false;
}

void* HelperMain(void* argument) {
  const int number = static_cast<int>(reinterpret_cast<intptr_t>(argument));
  Helper& self = *g_helpers[number].load();
  t_serial = 1;  // what a body calls runs here
  int64_t spin = kIdleSpin, idle = Now(), last = idle;
  for (int turn = 0;; ++turn) {
    if (g_open.load(std::memory_order_relaxed) && Help(number)) {
      idle = last = Now();
      continue;
    }
    Pause();
    if (turn % 8 != 0) continue;
    const int64_t now = Now();
    if (now - last > kInterrupted) spin = kShortSpin;
    last = now;
    if (now - idle < spin) continue;
    self.asleep.store(1);
    if (!WorkFor(number)) Wait(&self.asleep, 1, nullptr);
    self.asleep.store(0);
    idle = last = Now();
    spin = std::min(spin + spin / 16, kIdleSpin);  // a core becomes free again
  }
  return nullptr;
}

// Signals are for the threads of the user, except those that this thread causes itself.
void Start(int wanted) {
  static std::mutex& mutex = *new std::mutex;
  std::lock_guard<std::mutex> lock(mutex);
  sigset_t all, before;
  sigfillset(&all);
  for (int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) sigdelset(&all, own);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (int i = g_started.load(); i < wanted; ++i) {
    if (!g_helpers[i].load()) g_helpers[i].store(new Helper);  // lives as long as its thread
    pthread_t thread;
    if (pthread_create(&thread, nullptr, HelperMain, reinterpret_cast<void*>(intptr_t{i})) != 0)
      break;  // the system has no more: those that are there do
    pthread_detach(thread);
    g_started.store(i + 1);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Loop* TakeLoop() {
  for (Loop& loop : g_loops) {
    if (loop.taken.load(std::memory_order_relaxed) || loop.taken.exchange(true)) continue;
    if (loop.visitors.load() == 0) return &loop;
    loop.taken.store(false);
  }
  return nullptr;
}

void RunAlone(int64_t blocks, void (*body)(void*, int64_t), void* state) {
  for (int64_t i = 0; i < blocks; ++i) {
    CheckInterrupt();
    body(state, i);
  }
}

}  // namespace

void RunOnPool(int helpers, int64_t blocks, void (*body)(void*, int64_t), void* state) {
  helpers = static_cast<int>(std::min<int64_t>({helpers, blocks - 1, kMostHelpers}));
  if (helpers <= 0) return RunAlone(blocks, body, state);
  SerialScope nested_calls_run_here;
  if (g_started.load(std::memory_order_relaxed) < helpers) Start(helpers);
  Loop* loop = TakeLoop();
  if (!loop) return RunAlone(blocks, body, state);
  const int number = static_cast<int>(loop - g_loops);
  loop->body = body;
  loop->state = state;
  loop->blocks = blocks;
  loop->pieces = static_cast<int>(std::min<int64_t>(blocks, kPieces));
  loop->sharers = helpers + 1;
  loop->failed.store(false, std::memory_order_relaxed);
  const uint64_t none = loop->pieces < 64 ? ~uint64_t{0} << loop->pieces : 0;
  loop->finished.store(none, std::memory_order_relaxed);
  loop->claimed.store(none, std::memory_order_relaxed);
  loop->helpers.store(helpers, std::memory_order_relaxed);
  g_open.fetch_or(uint32_t{1} << number);
  static const int cores = AvailableCores();
  const int useful = std::min(
      {helpers, std::max(1, cores - 1), g_started.load(std::memory_order_relaxed)});
  for (int i = 0; i < useful; ++i) {
    std::atomic<int>& asleep = g_helpers[i].load(std::memory_order_acquire)->asleep;
    if (asleep.load() == 1 && asleep.exchange(0) == 1) Wake(&asleep);
  }
  loop->RunPieces(0);
  g_open.fetch_and(~(uint32_t{1} << number));
  loop->AwaitHelpers();
  std::exception_ptr first = std::move(loop->first);
  loop->first = nullptr;
  loop->taken.store(false, std::memory_order_release);
  if (first) std::rethrow_exception(first);
}

}  // namespace dygraph::detail

#include "platform/threads.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "base/enforce.h"
#include "base/flags.h"
#include "platform/interrupt.h"
#include "platform/thread_count.h"

namespace dygraph {

FLAG(int64_t, num_threads, 0,
     "compute threads of the process; 0: by OMP_NUM_THREADS, affinity and cgroup quota");

namespace detail {

__thread int t_serial __attribute__((tls_model("initial-exec"))) = 0;
std::atomic<int> g_threads{0};

}  // namespace detail

namespace {

constexpr int kMostThreads = 1024;

std::atomic<bool> g_forked{false};
int64_t g_read_flag = FLAGS_num_threads;  // of the environment: the flag has registered above

// Libraries that use OpenMP themselves (oneDNN) follow this setting of the calling thread.
void SetLibraryThreads(int n) {
#ifdef _OPENMP
  omp_set_num_threads(n);
#else
  (void)n;
#endif
}

// libgomp's workers do not survive fork, and waking them there hangs: a child computes alone for
// good.
void AfterForkInChild() {
  g_forked = true;
  detail::g_threads = 1;
  SetLibraryThreads(1);
}

const int g_fork_handler = pthread_atfork(nullptr, nullptr, AfterForkInChild);

int AffinityCores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());  // more cores than a cpu_set_t holds
}

int CgroupCores() {
  std::ifstream file("/proc/self/cgroup");
  std::string groups{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return QuotaCores(groups, "/sys/fs/cgroup");
}

std::atomic<int> g_running{0};  // threads of all parallel loops that run now

// The threads of one parallel loop. Loops that several user threads run at once share the number of
// compute threads: who comes later takes what is left, at least itself.
class Team {
 public:
  explicit Team(int wanted) {
    int before = g_running.fetch_add(wanted, std::memory_order_relaxed);
    threads_ = std::clamp(detail::g_threads.load(std::memory_order_relaxed) - before, 1, wanted);
    if (threads_ < wanted) g_running.fetch_sub(wanted - threads_, std::memory_order_relaxed);
  }
  ~Team() { g_running.fetch_sub(threads_, std::memory_order_relaxed); }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  int threads() const { return threads_; }

 private:
  int threads_;
};

struct SerialScope {
  SerialScope() { ++detail::t_serial; }
  ~SerialScope() { --detail::t_serial; }
};

// Block `first` and every `step`th one after it.
void RunBlocks(int64_t first, int64_t step, int64_t blocks, void (*body)(void*, int64_t),
               void* state) {
  for (int64_t i = first; i < blocks; i += step) {
    CheckInterrupt();
    body(state, i);
  }
}

// The barrier at the end of a parallel region cannot look for Ctrl-C: the calling thread gets there
// when all but `absent` others have. It spins as libgomp does, then naps, at most a sixteenth of the time
// that it has waited.
void AwaitOthers(const std::atomic<int>& busy, int absent) {
  constexpr int kSpins = 20000;
  for (int i = 0; i < kSpins; ++i) {
    if (busy.load(std::memory_order_acquire) <= absent) return;
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
  }
  timespec nap{0, 50000};
  while (busy.load(std::memory_order_acquire) > absent) {
    CheckInterrupt();
    nanosleep(&nap, nullptr);
    nap.tv_nsec = std::min(nap.tv_nsec + nap.tv_nsec / 16, 10000000L);
  }
}

}  // namespace

namespace detail {

int DefaultThreads() {
  int n = AvailableCores();
  if (const char* text = std::getenv("OMP_NUM_THREADS")) {
    int asked = std::atoi(text);  // of "4,2", a number for each nesting level, the first
    if (asked > 0) n = std::min(n, asked);
  }
  if (FLAGS_num_threads > 0)
    n = static_cast<int>(std::min<int64_t>(FLAGS_num_threads, kMostThreads));
  n = std::min(n, kMostThreads);
  int unset = 0;
  return g_threads.compare_exchange_strong(unset, n) ? n : unset;
}

void ParallelRun(int64_t blocks, void (*body)(void*, int64_t), void* state) {
  int wanted = static_cast<int>(std::min<int64_t>(NumThreads(), blocks));
  if (wanted <= 1) return RunBlocks(0, 1, blocks, body, state);
  Team team(wanted);
  int threads = team.threads();
  if (threads == 1) {
    SerialScope nested_calls_run_here;
    return RunBlocks(0, 1, blocks, body, state);
  }
  std::atomic<bool> failed{false};
  std::atomic<int> busy{threads - 1};
  std::exception_ptr first;
#ifdef _OPENMP
#pragma omp parallel num_threads(threads)
#endif
  {
    SerialScope nested_calls_run_here;
    interrupt::Part of_this_loop(&failed);
#ifdef _OPENMP
    // fewer threads than were asked for, where the system has no more
    const int number = omp_get_thread_num(), count = omp_get_num_threads();
#else
    const int number = 0, count = 1;
#endif
    try {
      RunBlocks(number, count, blocks, body, state);
      if (number == 0) AwaitOthers(busy, threads - count);
    } catch (...) {  // an exception may not leave a parallel region
      if (!failed.exchange(true)) first = std::current_exception();
    }
    if (number > 0) busy.fetch_sub(1, std::memory_order_release);
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace detail

void SetNumThreads(int n) {
  ENFORCE(1 <= n && n <= kMostThreads, OutOfRange,
          "the number of threads must be in [1, 1024], got ", n);
  if (g_forked) return;
  detail::g_threads = n;
  if (!detail::t_serial) SetLibraryThreads(n);
}

void LendThreads() {
  static thread_local int lent = 0;
  int n = NumThreads();
  if (n == lent) return;
  SetLibraryThreads(n);
  lent = n;
}

void ReadThreadFlag() {
  if (FLAGS_num_threads == g_read_flag) return;
  g_read_flag = FLAGS_num_threads;
  if (g_read_flag > 0)
    SetNumThreads(static_cast<int>(std::min<int64_t>(g_read_flag, kMostThreads)));
}

void SetServiceThread() {
  if (!detail::t_serial) detail::t_serial = 1;
  SetLibraryThreads(1);
}

int AvailableCores() {
  int cores = AffinityCores();
  int quota = CgroupCores();
  return quota ? std::min(cores, quota) : cores;
}

}  // namespace dygraph

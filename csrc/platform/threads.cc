#include "platform/threads.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <string>
#include <thread>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "base/enforce.h"

namespace dygraph {
namespace detail {

__thread int t_serial __attribute__((tls_model("initial-exec"))) = 0;
std::atomic<int> g_threads{0};

}  // namespace detail

namespace {

std::atomic<bool> g_forked{false};

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

// Whole cores of a cgroup's quota, or 0 where there is none.
int QuotaCores(double quota, double period) {
  return quota > 0 && period > 0 ? std::max(1, static_cast<int>(quota / period)) : 0;
}

// Every group above ours limits us too.
int CgroupCores() {
  int cores = 0;
  auto take = [&](int n) {
    if (n && (!cores || n < cores)) cores = n;
  };
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (line.compare(0, 3, "0::") != 0) continue;
    for (std::string path = line.substr(3);; path.erase(path.rfind('/'))) {
      std::ifstream file("/sys/fs/cgroup" + path + "/cpu.max");
      std::string quota;
      double period = 0;
      if (file >> quota >> period && quota != "max") {
        take(QuotaCores(std::atof(quota.c_str()), period));
      }
      if (path.rfind('/') == std::string::npos) break;
    }
  }
  double quota = 0, period = 0;
  if (std::ifstream("/sys/fs/cgroup/cpu/cpu.cfs_quota_us") >> quota &&
      std::ifstream("/sys/fs/cgroup/cpu/cpu.cfs_period_us") >> period) {
    take(QuotaCores(quota, period));
  }
  return cores;
}

struct SerialScope {
  SerialScope() { ++detail::t_serial; }
  ~SerialScope() { --detail::t_serial; }
};

}  // namespace

namespace detail {

int DefaultThreads() {
  int n = AvailableCores();
  if (const char* text = std::getenv("OMP_NUM_THREADS")) {
    int asked = std::atoi(text);  // of "4,2", a number for each nesting level, the first
    if (asked > 0) n = std::min(n, asked);
  }
  n = std::min(n, 1024);
  int unset = 0;
  return g_threads.compare_exchange_strong(unset, n) ? n : unset;
}

void ParallelRun(int64_t blocks, void (*body)(void*, int64_t), void* state) {
  int threads = static_cast<int>(std::min<int64_t>(NumThreads(), blocks));
  if (threads <= 1) {
    for (int64_t i = 0; i < blocks; ++i) body(state, i);
    return;
  }
  std::atomic<bool> failed{false};
  std::exception_ptr first;
#ifdef _OPENMP
#pragma omp parallel num_threads(threads)
#endif
  {
    SerialScope nested_calls_run_here;
#ifdef _OPENMP
#pragma omp for schedule(static, 1)
#endif
    for (int64_t i = 0; i < blocks; ++i) {
      if (failed.load(std::memory_order_relaxed)) continue;
      try {
        body(state, i);
      } catch (...) {  // an exception may not leave a parallel region
        if (!failed.exchange(true)) first = std::current_exception();
      }
    }
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace detail

void SetNumThreads(int n) {
  ENFORCE(1 <= n && n <= 1024, OutOfRange, "the number of threads must be in [1, 1024], got ", n);
  if (g_forked) return;
  detail::g_threads = n;
  if (!detail::t_serial) SetLibraryThreads(n);
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

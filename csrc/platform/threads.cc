#include "platform/threads.h"

#include <pthread.h>

#include <algorithm>
#include <cstdlib>

#include "base/enforce.h"
#include "base/flags.h"
#include "platform/thread_count.h"
#include "platform/thread_limit.h"

namespace dygraph {

FLAG(int64_t, num_threads, 0,
     "compute threads of the process; 0: by OMP_NUM_THREADS, affinity and cgroup quota");

FLAG(bool, cpu_deterministic, true,
     "the same bits for any number of threads; they always are, also where this is false");

namespace detail {

std::atomic<int> g_threads{0};

}  // namespace detail

namespace {

constexpr int kMostThreads = 1024;

std::atomic<bool> g_forked{false};
int64_t g_read_flag = FLAGS_num_threads;  // of the environment: the flag has registered above

// The pool's threads do not survive fork: a child computes alone for good.
void AfterForkInChild() {
  g_forked = true;
  detail::g_threads = 1;
}

const int g_fork_handler = pthread_atfork(nullptr, nullptr, AfterForkInChild);

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

namespace {
__thread int t_most __attribute__((tls_model("initial-exec"))) = 0;  // 0: no limit
}

void ParallelRun(int64_t blocks, void (*body)(void*, int64_t), void* state) {
  const int threads = NumThreads();
  RunOnPool((t_most ? std::min(threads, t_most) : threads) - 1, blocks, body, state);
}

}  // namespace detail

ThreadLimit::ThreadLimit(int most) : outer_(detail::t_most), alone_(most == 1) {
  if (most > 0) detail::t_most = outer_ ? std::min(most, outer_) : most;
  detail::t_serial += alone_;  // loops are not even cut
}

ThreadLimit::~ThreadLimit() {
  detail::t_most = outer_;
  detail::t_serial -= alone_;
}

void SetNumThreads(int n) {
  ENFORCE(1 <= n && n <= kMostThreads, OutOfRange,
          "the number of threads must be in [1, 1024], got ", n);
  if (g_forked) return;
  detail::g_threads = n;
}

void ReadThreadFlag() {
  if (FLAGS_num_threads == g_read_flag) return;
  g_read_flag = FLAGS_num_threads;
  if (g_read_flag > 0)
    SetNumThreads(static_cast<int>(std::min<int64_t>(g_read_flag, kMostThreads)));
}

void SetServiceThread() {
  if (!detail::t_serial) detail::t_serial = 1;
}

}  // namespace dygraph

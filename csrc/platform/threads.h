// The one compute pool (OpenMP) and the loops that use it.
#pragma once

#include <atomic>
#include <cstdint>

namespace dygraph {

namespace detail {
// Above 0 the thread computes alone.
extern __thread int t_serial __attribute__((tls_model("initial-exec")));
extern std::atomic<int> g_threads;  // 0 until first asked for
int DefaultThreads();               // fills g_threads
}  // namespace detail

// Compute threads of the calling thread; 1 after fork, in service threads and inside a parallel
// body. The default is AvailableCores(), or OMP_NUM_THREADS where that is smaller.
inline int NumThreads() {
  if (detail::t_serial) return 1;
  int n = detail::g_threads.load(std::memory_order_relaxed);
  return n ? n : detail::DefaultThreads();
}
// For the whole process; OutOfRange unless 1 <= n <= 1024. A forked child keeps 1.
void SetNumThreads(int n);
// The calling thread (scheduler, loader, executor) computes with one thread from now on.
void SetServiceThread();
// By affinity mask and cgroup quota, at least 1.
int AvailableCores();

namespace detail {
// Runs body(state, i) for i in [0, blocks) and looks for Ctrl-C between them. The first exception of
// a body is thrown again after the loop.
void ParallelRun(int64_t blocks, void (*body)(void*, int64_t), void* state);
}  // namespace detail

namespace detail {
// The one copy of the body's code, whichever way it is reached.
template <class Body>
__attribute__((noinline)) void RunPiece(const void* body, int64_t begin, int64_t end) {
  (*static_cast<const Body*>(body))(begin, end);
}
using PieceFn = void (*)(const void* body, int64_t begin, int64_t end);
// The loops of ParallelFor and kernels::ParallelRows, where one piece may not be enough.
void RunElements(int64_t n, int64_t grain, PieceFn piece, const void* body);
void RunRows(int64_t rows, int64_t row_cost, int64_t grain, PieceFn piece, const void* body);
}  // namespace detail

// Calls body(i) for i in [0, blocks), on the pool when there is more than one block and one thread.
// Results must not depend on which thread runs a block: that is what makes our kernels give the
// same bits for any thread count.
template <class Body>
void ParallelBlocks(int64_t blocks, const Body& body) {
  if (blocks <= 1) {
    if (blocks == 1) body(int64_t{0});
    return;
  }
  detail::ParallelRun(
      blocks, [](void* state, int64_t i) { (*static_cast<const Body*>(state))(i); },
      const_cast<Body*>(&body));
}

// Grains of work that one piece has at most: 10 ms or so between two looks for Ctrl-C.
constexpr int64_t kMostGrains = 512;

// Splits [0, n) into pieces of at least `grain` and calls body(begin, end) on each, in parallel.
// Pieces may differ with the thread count, so only for work whose elements are independent.
template <class Body>
void ParallelFor(int64_t n, int64_t grain, const Body& body) {
  if (n >= 2 * grain) return detail::RunElements(n, grain, &detail::RunPiece<Body>, &body);
  if (n > 0) detail::RunPiece<Body>(&body, 0, n);
}

}  // namespace dygraph

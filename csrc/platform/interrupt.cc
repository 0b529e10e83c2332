#include "platform/interrupt.h"

#include <time.h>

#include <algorithm>
#include <cstdint>

#include "base/enforce.h"
#include "platform/run_limit.h"

namespace dygraph {

namespace {

// Milliseconds between two looks. A look that had to wait for Python's lock, which other threads
// use, makes the next one come later, so that waiting takes a few hundredths of the time at most.
constexpr int64_t kBetween = 60, kLongest = 120, kShareOfWaiting = 25;

std::atomic<void (*)()> g_look{nullptr};

struct State {
  int64_t next = 0;
  int off = 0;
  const std::atomic<bool>* stop = nullptr;
  const RunLimit* limit = nullptr;
};
__thread State t_state __attribute__((tls_model("initial-exec")));

int64_t Now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
  return int64_t{t.tv_sec} * 1000 + t.tv_nsec / 1000000;
}

}  // namespace

namespace {

__attribute__((noinline)) void CheckLimit(const RunLimit& limit) {
  if (limit.cancelled.load(std::memory_order_relaxed))
    throw Error(ErrorKind::Interrupted, "the run was cancelled");
  if (limit.passed())
    throw Error(ErrorKind::Interrupted, "the run took longer than its time limit");
}

}  // namespace

void CheckInterrupt() {
  State& state = t_state;
  if (state.stop && state.stop->load(std::memory_order_relaxed))
    throw Error(ErrorKind::Interrupted, "another part of the loop has stopped");
  if (__builtin_expect(state.limit != nullptr, 0) && !state.off) CheckLimit(*state.limit);
  void (*look)() = g_look.load(std::memory_order_relaxed);
  if (!look || state.off) return;
  const int64_t now = Now();
  if (now < state.next) return;
  state.next = now + kBetween;
  {
    interrupt::Part not_of_this_loop(nullptr);  // what handlers of signals compute
    look();
  }
  const int64_t after = Now();
  state.next = after + std::clamp((after - now) * kShareOfWaiting, kBetween, kLongest);
}

int64_t RunLimit::Now() { return dygraph::Now(); }

Limited::Limited(const RunLimit* limit) : outer_(t_state.limit) { t_state.limit = limit; }
Limited::~Limited() { t_state.limit = outer_; }

void CheckRun() {
  if (__builtin_expect(t_state.limit != nullptr, 0)) CheckInterrupt();
}

namespace interrupt {

void SetLook(void (*look)()) { g_look = look; }
void Postpone() { t_state.next = Now() + kBetween; }

Off::Off(bool off) : off_(off) { t_state.off += off_; }
Off::~Off() { t_state.off -= off_; }

Part::Part(const std::atomic<bool>* stop) : outer_(t_state.stop) { t_state.stop = stop; }
Part::~Part() { t_state.stop = outer_; }

}  // namespace interrupt
}  // namespace dygraph

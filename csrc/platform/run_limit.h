// What ends a run of a program before its time: another thread, or a limit of time.
#pragma once

#include <atomic>
#include <cstdint>

namespace dygraph {

struct RunLimit {
  std::atomic<bool> cancelled{false};  // any thread may set it
  int64_t deadline = 0;                // milliseconds of Now(); 0: none

  static int64_t Now();  // of a coarse clock, some 4 ms behind at most
  bool passed() const { return deadline != 0 && Now() >= deadline; }
};

// While it lives, CheckInterrupt() and CheckRun() on the calling thread throw Interrupted once the
// limit says so. The loops of the thread end on all threads that share them.
class Limited {
 public:
  explicit Limited(const RunLimit* limit);
  ~Limited();
  Limited(const Limited&) = delete;
  Limited& operator=(const Limited&) = delete;

 private:
  const RunLimit* outer_;
};

// Between operators: a CheckInterrupt() where the run is limited.
void CheckRun();

}  // namespace dygraph

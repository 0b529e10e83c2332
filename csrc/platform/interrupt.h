// Ctrl-C inside long calls: loops check between pieces of bounded work.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace dygraph {

// Throws Interrupted where the calling thread, or the loop that it computes a part of, is to stop.
// Cheap (a coarse clock): to be called after every 20 us to 50 ms of work. Where it throws, outputs
// are dropped; it never does where values are replaced in place.
void CheckInterrupt();

// body(begin, end) on pieces of [0, n) one after another, with a check between them.
template <class Body>
void InPieces(int64_t n, int64_t piece, const Body& body) {
  for (int64_t begin = 0; begin < n; begin += piece) {
    if (begin > 0) CheckInterrupt();
    body(begin, std::min(n, begin + piece));
  }
}

namespace interrupt {

// The check for signals, on any thread, which throws Interrupted; python/ sets it.
void SetLook(void (*look)());
// Delays the next check of this thread: short calls need none.
void Postpone();

// No look while it lives.
class Off {
 public:
  explicit Off(bool off = true);
  ~Off();
  Off(const Off&) = delete;
  Off& operator=(const Off&) = delete;

 private:
  bool off_;
};

// Inside, CheckInterrupt() throws once `stop` is set.
class Part {
 public:
  explicit Part(const std::atomic<bool>* stop);
  ~Part();
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

 private:
  const std::atomic<bool>* outer_;
};

}  // namespace interrupt
}  // namespace dygraph

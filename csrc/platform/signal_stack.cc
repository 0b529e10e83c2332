#include "platform/signal_stack.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace dygraph {

namespace {

class SignalStack {
 public:
  SignalStack() {
    stack_t now;
    if (sigaltstack(nullptr, &now) != 0 || !(now.ss_flags & SS_DISABLE)) return;  // there is one
    // the registers alone take 11 KB where there are tiles of matrices
    long least = 0;
#ifdef _SC_MINSIGSTKSZ
    least = sysconf(_SC_MINSIGSTKSZ);
#endif
    bytes_ = static_cast<size_t>(std::max(least, 16384L)) * 4;
    void* block = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) return;
    stack_t own{};
    own.ss_sp = block;
    own.ss_size = bytes_;
    if (sigaltstack(&own, nullptr) == 0) {
      block_ = block;
    } else {
      munmap(block, bytes_);
    }
  }
  ~SignalStack() {
    stack_t now;
    if (!block_ || sigaltstack(nullptr, &now) != 0) return;
    if (now.ss_sp == block_) {
      stack_t none{};
      none.ss_flags = SS_DISABLE;
      sigaltstack(&none, nullptr);
    }
    munmap(block_, bytes_);
  }
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  void* block_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace

void GuardFromSignals() { static thread_local SignalStack stack; }

}  // namespace dygraph

// What the host language's bindings give to calls: long kernels run without the interpreter's lock,
// and loops that run many of them ask for signals.
#pragma once

#include <string>

namespace dygraph {

struct InterpreterHooks {
  void* (*release_lock)() = nullptr;
  void (*acquire_lock)(void*) = nullptr;
  void (*check_signals)() = nullptr;  // throws Interrupted
  // Adds a line to the error that is set, if any: one that an Error of kind Interrupted stands for.
  void (*append_to_error)(const std::string& text) = nullptr;
};

namespace detail {
extern InterpreterHooks interpreter_hooks;
}
// Set once, before the first call.
inline InterpreterHooks& Interpreter() { return detail::interpreter_hooks; }

// Elements of inputs and outputs together whose computation takes about 10 us, where handing the
// interpreter's lock over costs 0.1 us.
constexpr int64_t kWorthUnlocking = 1 << 15;

// While it lives other threads of the interpreter may run.
class WithoutLock {
 public:
  explicit WithoutLock(bool release = true);
  ~WithoutLock();
  WithoutLock(const WithoutLock&) = delete;
  WithoutLock& operator=(const WithoutLock&) = delete;

 private:
  void* token_ = nullptr;
};

}  // namespace dygraph

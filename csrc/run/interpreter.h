// What the host language's bindings give to calls: long kernels run without the interpreter's lock,
// and loops that run many of them ask for signals.
#pragma once

namespace dygraph {

struct InterpreterHooks {
  void* (*release_lock)() = nullptr;
  void (*acquire_lock)(void*) = nullptr;
  void (*check_signals)() = nullptr;  // throws Interrupted
};

namespace detail {
extern InterpreterHooks interpreter_hooks;
}
// Set once, before the first call.
inline InterpreterHooks& Interpreter() { return detail::interpreter_hooks; }

}  // namespace dygraph

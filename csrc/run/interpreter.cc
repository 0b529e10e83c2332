#include "run/interpreter.h"

#include "platform/interrupt.h"

namespace dygraph {

namespace detail {
InterpreterHooks interpreter_hooks;
}

WithoutLock::WithoutLock(bool release) {
  if (!release || !Interpreter().release_lock) return;
  interrupt::Postpone();
  token_ = Interpreter().release_lock();
}

WithoutLock::~WithoutLock() {
  if (token_) Interpreter().acquire_lock(token_);
}

}  // namespace dygraph

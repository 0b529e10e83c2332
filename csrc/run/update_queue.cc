#include "run/update_queue.h"

#include "run/interpreter.h"
#include "run/watch.h"

namespace dygraph {

LoopQueue* UpdateQueue::queue() { return watch::Switches() != 0 ? nullptr : &queue_; }

void UpdateQueue::KeepInput(const OpInfo& op, int slot, const Value& value) {
  if (!value.is_tensor()) return;
  bool written = false;
  for (auto [from, to] : op.in_place) written |= from == slot;
  if (!written || !value.tensor().OwnsStorage()) alive_.push_back(value.tensor().storage());
}

void UpdateQueue::KeepOutput(const Value& value) {
  if (value.is_tensor()) alive_.push_back(value.tensor().storage());
}

void UpdateQueue::Run() {
  constexpr int64_t kWorthUnlocking = 1 << 15;  // as that of a call
  const InterpreterHooks& hooks = Interpreter();
  bool unlock = hooks.release_lock && queue_.work() >= kWorthUnlocking;
  void* token = unlock ? hooks.release_lock() : nullptr;
  try {
    queue_.Run();
  } catch (...) {
    if (token) hooks.acquire_lock(token);
    throw;
  }
  if (token) hooks.acquire_lock(token);
  alive_.clear();
}

}  // namespace dygraph

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
  {
    WithoutLock unlocked(queue_.work() >= kWorthUnlocking);
    queue_.Run();
  }
  alive_.clear();
}

}  // namespace dygraph

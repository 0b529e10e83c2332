// Updates of many parameters whose loops run together: eager steps and programs share it.
#pragma once

#include <vector>

#include "op/op_info.h"
#include "platform/loop_queue.h"
#include "tensor/value.h"

namespace dygraph {

// What the loops read and write stays alive until they run, also where results went to storage of
// their own or another thread drops a gradient meanwhile.
class UpdateQueue {
 public:
  // For the calls that follow; nullptr while a watcher is active.
  LoopQueue* queue();
  // Before a call: not what the operator may write in place, which must have one owner.
  void KeepInput(const OpInfo& op, int slot, const Value& value);
  // After it.
  void KeepOutput(const Value& value);
  // Runs what waits; without the interpreter's lock where that pays.
  void Run();

 private:
  LoopQueue queue_;
  std::vector<Ref<Storage>> alive_;
};

}  // namespace dygraph

// Updates of optimizers that stand together in a program: their loops run as one, as those of an
// eager step do.
#include <algorithm>
#include <unordered_set>

#include "execute/plan.h"
#include "run/interpreter.h"
#include "run/update_queue.h"

namespace dygraph::program {

// An operator that writes the parameter it reads, in place.
bool PreparedProgram::IsUpdate(const Op& op) const {
  if (!op.parts.empty()) return false;
  for (auto [in, out] : op.info->in_place) {
    if (op.info->inputs[in].name != "Param" || op.info->outputs[out].name != "ParamOut") continue;
    int param = op.Input("Param");
    return param >= 0 && slots_[param].persistable && param == op.Output("ParamOut");
  }
  return false;
}

// Neighbours that do not write what another one of them reads or writes.
void PreparedProgram::FindUpdates() {
  for (size_t first = 0; first < ops_.size();) {
    std::unordered_set<int> read, written;
    auto joins = [&](const Op& op) {
      if (!IsUpdate(op)) return false;
      for (int s : op.in) {
        if (written.count(s)) return false;
      }
      return std::none_of(op.out.begin(), op.out.end(),
                          [&](int s) { return read.count(s) || written.count(s); });
    };
    size_t end = first;
    for (; end < ops_.size() && joins(ops_[end]); ++end) {
      for (int s : ops_[end].in) {
        if (s >= 0) read.insert(s);
      }
      for (int s : ops_[end].out) {
        if (s >= 0) written.insert(s);
      }
    }
    if (end > first + 1) ops_[first].updates = static_cast<int>(end - first);
    first = std::max(end, first + 1);
  }
}

// False, with nothing done, where the updates are to run one by one: a watcher looks, or two names
// stand for one variable.
bool PreparedProgram::RunTogether(size_t first, Frame& frame, RandomStreams random) const {
  UpdateQueue together;
  if (frame.aliased || !together.queue()) return false;
  void (*check_signals)() = Interpreter().check_signals;
  try {
    for (size_t i = first; i < first + ops_[first].updates; ++i) {
      const Op& op = ops_[i];
      size_t k = 0;
      for (size_t slot = 0; slot < op.in_ends.size(); ++slot) {
        for (; k < op.in_ends[slot]; ++k) {
          if (op.in[k] >= 0)
            together.KeepInput(*op.info, static_cast<int>(slot), *frame.values[op.in[k]]);
        }
      }
      {
        Beside<LoopQueue> waiting(&frame.calls[i].call.queue, together.queue());
        RunOne(op, frame, frame.calls[i], random);
      }
      for (int s : op.out) {
        if (s >= 0) together.KeepOutput(*frame.values[s]);
      }
      if (check_signals) check_signals();
    }
  } catch (...) {
    together.Run();  // the updates before it have been made
    throw;
  }
  together.Run();
  return true;
}

}  // namespace dygraph::program

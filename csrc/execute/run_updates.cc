// Updates of optimizers that stand together in a program: their loops run as one, as those of an
// eager step do.
#include "execute/frame.h"
#include "run/interpreter.h"
#include "run/update_queue.h"

namespace dygraph::program {

// False, with nothing done, where the updates are to run one by one: a watcher looks, or two names
// stand for one variable.
bool PreparedProgram::RunTogether(Stretch of, size_t first, Frame& frame,
                                  RandomStreams random) const {
  UpdateQueue together;
  if (frame.aliased || !together.queue()) return false;
  const size_t end = first + of.ops[first].updates;
  for (size_t i = first; i < end; ++i) {
    if (of.ops[i].lenient && !of.calls[i].IsWhole()) return false;
  }
  void (*check_signals)() = Interpreter().check_signals;
  try {
    for (size_t i = first; i < end; ++i) {
      const PlanOp& op = of.ops[i];
      size_t k = 0;
      for (size_t slot = 0; slot < op.in_ends.size(); ++slot) {
        for (; k < op.in_ends[slot]; ++k) {
          if (op.in[k] >= 0)
            together.KeepInput(*op.info, static_cast<int>(slot), *frame.values[op.in[k]]);
        }
      }
      {
        Beside<LoopQueue> waiting(&of.calls[i].call.queue, together.queue());
        RunOne(op, frame, of.calls[i], random);
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

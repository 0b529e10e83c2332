// The door of eager calls: operators on Variables.
#pragma once

#include "op/op_registry.h"
#include "tape/layer.h"

namespace dygraph {

struct OpOptions {
  // Variables that take the results, by slot; an operator's in-place pairs then write into their
  // storage unless it is shared.
  const SlotList<Variable>* targets = nullptr;
  // lengths of output lists, by slot; negative: the operator's rule
  const SmallVector<int, 4>* counts = nullptr;
  const WantedSet* wanted = nullptr;  // by flat output number; nullptr: all
  bool extras = false;                // make kExtra outputs too
  // shapes follow from a recorded call: no need to check a gradient's
  bool from_tape = false;
  // In-place pairs of the operator, by position, whose input is not read again.
  uint32_t spent = 0;
  LoopQueue* queue = nullptr;  // where loops of an update may wait
};

void RunOp(const OpInfo& op, const Ref<Attrs>& attrs, const SlotList<Variable>& in, Outputs* out,
           const OpOptions& options = OpOptions());

// Shorthands: default attributes, single slots, the first output.
Ref<Variable> RunUnary(const OpInfo& op, const Ref<Attrs>& attrs, Variable& x);
Ref<Variable> RunBinary(const OpInfo& op, const Ref<Attrs>& attrs, Variable& x, Variable& y);

}  // namespace dygraph

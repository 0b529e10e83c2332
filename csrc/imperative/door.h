// The one door: every immediate operator call goes through RunOp. Its lower half, RunKernel, serves
// programs too.
#pragma once

#include "imperative/variable.h"
#include "op/op_registry.h"

namespace dygraph {

// A finished call, as listeners see it. Outputs are fresh variables, whatever the caller does with
// them afterwards.
struct CallRecord {
  const OpInfo& op;
  const Ref<Attrs>& attrs;
  const SlotList<Variable>& in;
  const SlotList<Variable>& out;
};

class Listener {
 public:
  virtual ~Listener() = default;
  virtual void OnCall(const CallRecord& call) = 0;
  // A value leaves for Python (numpy, item, bool): a recorder that cannot follow it raises here.
  virtual void OnRead(Variable&, const char* /*how*/) {}
  // A variable is about to hold another value; it still has the old one.
  virtual void OnWrite(Variable&) {}
  // A backward pass begins here.
  virtual void OnBackward(Variable& /*root*/) {}
};
void AddListener(Listener* listener);  // for this thread
void RemoveListener(Listener* listener);

struct Outputs {
  SmallVector<Ref<Variable>, 2> owned;  // flat
  SlotList<Variable> slots;
};

struct OpOptions {
  // Variables that take the results, by slot; an operator's in-place pairs then write into their
  // storage if nobody shares it.
  const SlotList<Variable>* targets = nullptr;
  // lengths of output lists, by slot; negative: the operator's rule
  const SmallVector<int, 4>* counts = nullptr;
  const WantedSet* wanted = nullptr;  // by flat output number; nullptr: all
  bool extras = false;                // make kExtra outputs too
  // shapes follow from a recorded call: no need to check a gradient's
  bool from_tape = false;
  // In-place pairs of the operator, by position, whose input nobody will read again.
  uint32_t spent = 0;
};

void RunOp(const OpInfo& op, const Ref<Attrs>& attrs, const SlotList<Variable>& in, Outputs* out,
           const OpOptions& options = OpOptions());

// What a program being described learns of a call on symbolic variables: outputs are fresh symbolic
// variables with shape and type. It names them and writes the call down.
// An output with a target is written under the target's name.
using DescribeCall = void (*)(const CallRecord& call, const SlotList<Variable>* targets);
void SetDescribeCall(DescribeCall describe);  // lent by the room that builds programs

// The outputs' shapes and types, as far as they are known before anything runs (unknown sizes are
// -1); nothing is computed.
void InferOutputs(Call& call);

// Shorthands: default attributes, single slots, the first output.
Ref<Variable> RunUnary(const OpInfo& op, const Ref<Attrs>& attrs, Variable& x);
Ref<Variable> RunBinary(const OpInfo& op, const Ref<Attrs>& attrs, Variable& x, Variable& y);

// Kernel choice, input transform, shape rule, allocation, kernel. `call.out` holds fresh values;
// one that already shares the storage of an input (an in-place pair) keeps it. `place` serves calls
// without inputs.
void RunKernel(Call& call, Place place);

// Which kernel would run for these inputs, and every candidate with the reason it was passed over.
struct KernelChoice {
  const Kernel* chosen = nullptr;
  std::vector<std::pair<const Kernel*, std::string>> candidates;
};
KernelChoice ExplainKernel(Call& call, Place place);

}  // namespace dygraph

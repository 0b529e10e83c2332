// Layers, through which an eager call passes before it is computed. The tape, the recorder and the
// description of programs are layers; each thread has a chain of the active ones.
#pragma once

#include <memory>
#include <vector>

#include "run/run.h"
#include "tape/variable.h"

namespace dygraph {

struct Outputs {
  SmallVector<Ref<Variable>, 2> owned;  // flat
  SlotList<Variable> slots;
};

// Variables of a program that give an attribute of a call (op/open_attr.h); `list`: one for each
// element.
struct OpenInput {
  int field = -1;
  std::vector<Ref<Variable>> variables;
  bool list = false;
};

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
  LoopQueue* queue = nullptr;                    // where loops of an update may wait
  const std::vector<OpenInput>* open = nullptr;  // of a call that DescribeOp writes down
};

inline bool AnyFloat64(const SlotList<Variable>& list) {
  for (const Variable* v : list.flat()) {
    if (v && !v->value().empty() && v->value().dtype() == DType::kFloat64) return true;
  }
  return false;
}

// A call on variables. Outputs are fresh variables, whatever the caller does with them afterwards.
class EagerCall final : public Caller {
 public:
  EagerCall(const OpInfo& op, const Ref<Attrs>& attrs, const SlotList<Variable>& in,
            Outputs* result, const OpOptions& options)
      : op(op),
        attrs(attrs),
        in(in),
        out(result->slots),
        result(result),
        options(options),
        targets(options.targets) {
    values.op = &op;
    values.attrs = attrs->data();
    values.caller = this;
  }

  const OpInfo& op;
  const Ref<Attrs>& attrs;
  const SlotList<Variable>& in;
  const SlotList<Variable>& out;
  Outputs* const result;
  const OpOptions& options;
  const SlotList<Variable>* targets;  // variables that take the results; nullptr: none
  Call values;                        // the call on what the variables hold
  uint8_t marks = 0;                  // of all inputs together

  // Takes the results of another computation in place of its own outputs, slot by slot. They are
  // those of calls, which the tape knows, and nothing else holds them.
  void SetResults(Outputs results);
  const std::string* NameOf(int flat) const override;
  // Other threads may drop the variables while the call runs without Python's lock. They are held
  // to the end of the call: the tape reads them last.
  void Hold() override;

 private:
  SmallVector<Ref<Variable>, 6> held_;
};

class Layer {
 public:
  Layer() = default;
  virtual ~Layer() = default;
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  // Performs the call, usually by Below(), with the layer's own work.
  virtual void Run(EagerCall& call) = 0;

 protected:
  // The layers below this one, and after the last one the computation.
  void Below(EagerCall& call) {
    if (below_) {
      below_->Run(call);
    } else {
      dygraph::Run(call.values);
    }
  }

 private:
  friend struct ThreadState;
  friend class Listener;
  Layer* below_ = nullptr;
};

// Observes finished calls, such as a recorder or a journal. Listeners are below the tape, which
// keeps the numbers that a recorder gives to values.
class Listener : public Layer {
 public:
  void Run(EagerCall& call) final {
    Below(call);
    OnCall(call);
  }
  virtual void OnCall(const EagerCall& call) = 0;
  // A value leaves for Python (numpy, item, bool): a recorder that cannot follow it raises here.
  virtual void OnRead(Variable&, const char* /*how*/) {}
  // A variable is about to hold another value; it still has the old one.
  virtual void OnWrite(Variable&) {}
  // A backward pass begins here.
  virtual void OnBackward(Variable& /*root*/) {}

  Listener* next() const { return static_cast<Listener*>(below_); }  // an older one

 private:
  friend struct ThreadState;
};

// A layer of a plug-in; tape/added_layer.h puts it into the chain.
class AddedLayer {
 public:
  AddedLayer() = default;
  virtual ~AddedLayer() = default;
  AddedLayer(const AddedLayer&) = delete;
  AddedLayer& operator=(const AddedLayer&) = delete;

  // Does the call: by Below(), with or without other inputs, or by call.SetResults(). Calls made in
  // here pass the layers below this one.
  virtual void Run(EagerCall& call) = 0;

 protected:
  // The layers below this one, then the tape and the computation.
  static void Below(EagerCall& call);
  // The same with other inputs, slot by slot: the results become those of `call`.
  static void Below(EagerCall& call, const SlotList<Variable>& in);
};

// The link of a thread's chain that stands for all of them.
class AddedLayers final : public Layer {
 public:
  void Run(EagerCall& call) override;
  void RunBelow(EagerCall& call);
  void Add(std::shared_ptr<AddedLayer> layer);
  bool Remove(const AddedLayer* layer);  // whether it was there
  bool any() const { return in_force_ > 0; }

 private:
  class Running;
  std::vector<std::shared_ptr<AddedLayer>> layers_;  // the oldest first
  size_t in_force_ = 0;  // calls pass so many: those below the layer that runs
  Running* running_ = nullptr;
};

// Adds a node for the call where an input needs a gradient.
class TapeLayer final : public Layer {
 public:
  void Run(EagerCall& call) override;
};

// Computes nothing and hands calls on symbolic variables, or without inputs, to the program that is
// being described.
class DescribingLayer final : public Layer {
 public:
  void Run(EagerCall& call) override;
};

}  // namespace dygraph

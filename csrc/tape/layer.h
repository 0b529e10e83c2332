// Layers: what an eager call passes through on its way to being computed. Recording on the tape is
// one, writing down is one, describing a program is one; a thread has a chain of those switched on.
#pragma once

#include "run/run.h"
#include "tape/variable.h"

namespace dygraph {

struct Outputs {
  SmallVector<Ref<Variable>, 2> owned;  // flat
  SlotList<Variable> slots;
};

// A call on variables. Outputs are fresh variables, whatever the caller does with them afterwards.
class EagerCall final : public Caller {
 public:
  EagerCall(const OpInfo& op, const Ref<Attrs>& attrs, const SlotList<Variable>& in,
            Outputs* result, const SlotList<Variable>* targets)
      : op(op), attrs(attrs), in(in), out(result->slots), result(result), targets(targets) {
    values.op = &op;
    values.attrs = attrs->data();
    values.caller = this;
  }

  const OpInfo& op;
  const Ref<Attrs>& attrs;
  const SlotList<Variable>& in;
  const SlotList<Variable>& out;
  Outputs* const result;
  const SlotList<Variable>* targets;  // variables that take the results; nullptr: none
  Call values;                        // the call on what the variables hold
  uint8_t marks = 0;                  // of all inputs together

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

  // Does the call: by Below() as a rule, and what the layer is for.
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

// Looks at finished calls: a recorder, a journal. Listeners stand below the tape, which keeps the
// numbers that a recorder gives to values.
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

// The eager variable: a value, and autograd data where it takes part in gradients.
#pragma once

#include <memory>
#include <string>

#include "tape/node.h"
#include "tensor/value.h"

namespace dygraph {

class Variable : public RefCounted<Variable> {
 public:
  static Ref<Variable> Make();
  static Ref<Variable> Make(Value value);

  const Value& value() const { return value_; }
  const Tensor& tensor() const { return value_.tensor(); }
  // For filling a variable that was never seen.
  Value& fresh_value() { return value_; }
  // A write: the new value is another one for the recorder, and what the tape kept stays as it was.
  void SetValue(Value value);
  // Takes over value, producer and number of `result`: how in-place operators end.
  // PreconditionNotMet for a leaf that needs a gradient while recording.
  void Become(Variable& result);

  // Facts on all inputs of a call.
  enum Mark : uint8_t { kWantsGradient = 1, kNotRecorded = 2, kSymbolic = 4 };
  uint8_t marks() const { return marks_; }

  bool stop_gradient() const { return !RequiresGrad(); }
  void set_stop_gradient(bool stop);  // InvalidArgument for False on a type without gradients
  bool RequiresGrad() const { return marks_ & kWantsGradient; }  // where there is a producer too
  bool IsLeaf() const { return !producer_.node; }
  const Edge& producer() const { return producer_; }
  void SetProducer(Ref<Node> node, uint32_t index) {
    producer_.node = std::move(node);
    producer_.index = index;
    marks_ |= kWantsGradient;
  }
  // Producer, or the leaf node made at first need, or nothing.
  Edge GradEdge() {
    if (producer_.node) return producer_;
    if (!RequiresGrad()) return Edge();
    MakeLeaf();
    return Edge{Ref<Node>(leaf_.get()), 0};
  }
  // A leaf that wants a gradient has its node from now on.
  void MakeLeaf() {
    if (!leaf_ && !producer_.node && RequiresGrad()) leaf_ = MakeRef<LeafNode>(this);
  }
  Ref<Variable> Detach() const;

  Ref<Variable> grad() const;
  void SetGrad(Ref<Variable> grad);
  void ClearGrad();
  uint64_t AddHook(Hook hook, void* owner = nullptr);
  void RemoveHook(uint64_t handle);
  void RetainGrad();
  const Ref<LeafNode>& leaf() const { return leaf_; }

  const std::string& name() const;  // empty when it has none
  void set_name(const std::string& name);
  bool persistable = false;
  // A constant that the library made for a formula: it may become part of a described program.
  bool literal = false;

  // Stands for a variable of a program that is being described: a shape and a type, never data. A
  // call on one is written down instead of computed.
  bool symbolic() const { return marks_ & kSymbolic; }
  void set_symbolic() { marks_ |= kSymbolic; }

  // Why no gradient reaches this variable although its inputs wanted one, for the error of
  // backward(); else nullptr.
  const std::string* not_recorded() const { return not_recorded_; }
  void set_not_recorded(const std::string* reason) {
    not_recorded_ = reason;
    marks_ = reason ? marks_ | kNotRecorded : marks_ & ~kNotRecorded;
  }

  // Recorder: numbers are given at first sight and never reused; a write takes the number away.
  uint64_t value_number = 0;

  // The Python side: the one wrapper (borrowed), and what a dead wrapper left behind (owned).
  void* wrapper = nullptr;
  void* wrapper_state = nullptr;
  static void (*release_wrapper_state)(void*);

  static int64_t live_count();
  static void Destroy(Variable* self);
  static void* operator new(size_t size);
  static void operator delete(void* p);

 private:
  Variable();
  ~Variable();

  Value value_;
  Edge producer_;
  Ref<LeafNode> leaf_;
  uint8_t marks_ = 0;
  const std::string* not_recorded_ = nullptr;
  std::unique_ptr<std::string> name_;
};

}  // namespace dygraph

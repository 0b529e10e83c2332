// The tape is a graph of nodes: one per recorded call, one per leaf that collects a gradient, one
// per Python function. Nodes point to the producers of their inputs, never to their outputs; the
// newest are played first.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/ref.h"
#include "base/small_vector.h"
#include "op/grad_builder.h"
#include "tensor/value.h"

namespace dygraph {

class Variable;
class Node;

// Where a gradient goes: an output of a node, or nowhere.
struct Edge {
  Ref<Node> node;
  uint32_t index = 0;
  explicit operator bool() const { return static_cast<bool>(node); }
};

// Stores kept values of the tape elsewhere, or nowhere: Pack takes each value and returns an object
// that restores it. Active in this thread while it lives; only the newest is active.
class SavedValueHooks {
 public:
  using Unpack = std::function<Value()>;
  SavedValueHooks();
  virtual ~SavedValueHooks();
  virtual Unpack Pack(const Value& value) = 0;

 private:
  SavedValueHooks* outer_;
};

// Gets the complete gradient; may give another one in its place, or nothing to leave it.
using Hook = std::function<Ref<Variable>(const Ref<Variable>&)>;
using GradList = SmallVector<Ref<Variable>, 2>;

// *sum = *sum + term, through the door. `into_first`: the first operand's variable takes the sum,
// in its own storage if that is not shared.
void AddGradient(Ref<Variable>* sum, const Ref<Variable>& term, bool into_first);

// Adds a line to the error; to the host language's own, where the error stands for one.
void AppendText(Error& e, const std::string& text);

struct PlayOptions {
  bool retain_graph = false;
  bool create_graph = false;
  bool accumulate_leaves = true;  // false in grad(): leaves stay untouched
};

class Node : public RefCounted<Node> {
 public:
  explicit Node(uint32_t outputs);
  virtual ~Node() = default;

  uint64_t seq() const { return seq_; }  // of this node alone; larger than those of its inputs
  uint32_t outputs() const { return outputs_; }
  SmallVector<Edge, 2>& edges() { return edges_; }  // one per input, in flat order
  void AddEdge(Edge edge) {
    if (edge.node && __builtin_expect(edge.node->seq_ > seq_, 0)) seq_ = NextSeq(edge.node->seq_);
    edges_.emplace_back(std::move(edge));
  }
  // Takes the gradients of its outputs (some absent), gives those of its inputs by edge number.
  virtual void Play(GradList& output_grads, GradList* input_grads, const PlayOptions& options) = 0;
  virtual const char* name() const = 0;  // outlives the node
  virtual bool freed() const { return false; }
  // Another pass, in a function of the user or on another thread, freed what this one plays.
  [[noreturn]] void ThrowFreed() const;
  // Whether a gradient that did not come out at this edge is zero: always where the node was not
  // `played`, because zeros arrived.
  virtual bool GivesZero(size_t /*edge*/, bool played) const { return !played; }
  // Who made the forward call, where callers are noted (run/watch.h); else nullptr.
  const std::string* caller = nullptr;

  // Hooks fire once, on the complete gradient of an output. The result is a handle for RemoveHook.
  // `owner` is what keeps the hook's Python function alive, for the garbage collector.
  uint64_t AddHook(uint32_t output, Hook hook, void* owner = nullptr);
  void VisitHookOwners(void (*visit)(void* owner, void* arg), void* arg) const;
  bool RemoveHook(uint64_t handle);
  void RunHooks(GradList* output_grads) const;
  virtual std::string NameOutput(uint32_t output) const;  // for errors
  void ClearHooks() { hooks_.reset(); }
  // Asked for by Variable.retain_grad: where the gradient of an intermediate is put.
  void RetainGrad(uint32_t output);
  Ref<Variable> retained_grad(uint32_t output) const;
  void ClearRetainedGrad(uint32_t output);

  // Dying chains of any length are taken apart in a loop.
  static void Destroy(Node* self);

 protected:
  virtual void Delete() { delete this; }

 private:
  struct HookEntry {
    uint64_t handle;
    uint32_t output;
    Hook hook;
    void* owner;
  };
  struct Retained {
    uint32_t output;
    Ref<Variable> grad;
  };
  static uint64_t NextSeq(uint64_t after);

  uint64_t seq_;
  uint32_t outputs_;
  SmallVector<Edge, 2> edges_;
  std::unique_ptr<std::vector<HookEntry>> hooks_;
  mutable std::unique_ptr<std::vector<Retained>> retained_;
};

// Collects the gradient of a variable that no call made: a parameter, an input.
class LeafNode : public Node {
 public:
  explicit LeafNode(Variable* variable) : Node(1), variable_(variable) {}
  void Play(GradList& output_grads, GradList* input_grads, const PlayOptions& options) override;
  const char* name() const override { return "leaf"; }
  std::string NameOutput(uint32_t output) const override;
  // Its variable died: the gradient is out of reach, but may depend on this leaf (create_graph) and
  // so keep it alive.
  void Abandon() {
    variable_ = nullptr;
    grad.reset();
  }
  Variable* variable() const { return variable_; }  // null once it died
  Ref<Variable> grad;

 private:
  Variable* variable_;
};

// One recorded operator call: its recipe and what the recipe reads.
class OpNode : public Node {
 public:
  OpNode(const OpInfo& op, const Recipe& recipe, Ref<Attrs> attrs, uint32_t outputs)
      : Node(outputs), op_(op), recipe_(&recipe), attrs_(std::move(attrs)) {}
  void Play(GradList& output_grads, GradList* input_grads, const PlayOptions& options) override;
  const char* name() const override;
  bool freed() const override { return freed_; }
  bool GivesZero(size_t edge, bool played) const override;
  // GivesZero, of an edge that the recipe has no call for.
  bool IsFlat(size_t edge) const;

  const OpInfo& op() const { return op_; }
  const Recipe& recipe() const { return *recipe_; }
  const Ref<Attrs>& attrs() const;
  SmallVector<Value, 2>& kept() { return kept_; }  // by position in recipe().kept
  // Where calls are recorded: the numbers of the kept values, so that a recorder knows them again.
  void KeepNumbers(std::vector<uint64_t> numbers) {
    numbers_ = std::make_unique<std::vector<uint64_t>>(std::move(numbers));
  }
  // Hands the kept values over; their shapes stay.
  void Pack(SavedValueHooks& hooks);

  // Slots of the forward call, to turn references into flat numbers.
  SmallVector<uint32_t, 4> in_ends, out_ends;

  static void* operator new(size_t size);
  static void operator delete(void* p);

 private:
  SmallVector<Value, 2> Unpack() const;
  RecipeRef InputAt(size_t edge) const;
  int FlatInput(RecipeRef r) const { return (r.slot ? in_ends[r.slot - 1] : 0) + r.index; }
  int FlatOutput(RecipeRef r) const { return (r.slot ? out_ends[r.slot - 1] : 0) + r.index; }
  // What a kept value was made by in the forward call.
  Edge ProducerOf(RecipeRef kept);

  const OpInfo& op_;
  const Recipe* recipe_;
  Ref<Attrs> attrs_;  // null: the default ones of the operator
  SmallVector<Value, 2> kept_;
  std::unique_ptr<std::vector<SavedValueHooks::Unpack>> packed_;  // as kept_; empty: not packed
  std::unique_ptr<std::vector<uint64_t>> numbers_;                // as kept_
  bool freed_ = false;
};

// A gradient written in Python (or by a C++ caller).
class FunctionNode : public Node {
 public:
  using Backward =
      std::function<void(GradList& output_grads, GradList* input_grads, bool create_graph)>;
  FunctionNode(const std::string& name, uint32_t outputs, Backward backward);
  void Play(GradList& output_grads, GradList* input_grads, const PlayOptions& options) override;
  const char* name() const override { return name_->c_str(); }
  bool freed() const override { return !backward_; }
  // Shape and type the gradient of the next input must have.
  void Expect(const Dims& dims, DType dtype) { expected_.emplace_back(dims, dtype); }

 private:
  const std::string* name_;
  std::vector<std::pair<Dims, DType>> expected_;
  Backward backward_;
};

}  // namespace dygraph

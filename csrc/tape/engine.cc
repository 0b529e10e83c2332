#include "tape/engine.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "run/interpreter.h"
#include "tape/door.h"
#include "tape/thread_state.h"

namespace dygraph {

namespace {

// One backward pass. Waiting nodes lie in a heap by creation number; a node that is on top has all
// its contributions, since its consumers are newer.
class Pass {
 public:
  explicit Pass(const PlayOptions& options) : options_(options) {}

  // `from` is the step that the gradient comes from.
  void Add(const Edge& edge, Ref<Variable> grad, uint32_t from) {
    Waiting& w = Find(edge.node, from);
    Ref<Variable>& slot = w.grads[edge.index];
    if (!slot) {
      slot = std::move(grad);
    } else {
      AddGradient(&slot, grad, !options_.create_graph && slot->unique());
    }
  }

  // Takes the newest waiting node.
  bool Next(Ref<Node>* node, GradList* grads, uint32_t* from) {
    if (heap_.empty()) return false;
    std::pop_heap(heap_.begin(), heap_.end(), older_);
    uint32_t i = heap_.back();
    heap_.pop_back();
    *node = std::move(waiting_[i].node);
    *grads = std::move(waiting_[i].grads);
    *from = waiting_[i].from;
    Forget(node->get());
    free_.push_back(i);
    return true;
  }

 private:
  struct Waiting {
    Ref<Node> node;
    uint64_t seq = 0;
    GradList grads;
    uint32_t from = 0;  // the first step that gave a gradient
  };
  // Larger creation number on top. Heap entries index waiting_, which may grow.
  struct Order {
    const std::vector<Waiting>* waiting;
    bool operator()(uint32_t a, uint32_t b) const { return (*waiting)[a].seq < (*waiting)[b].seq; }
  };

  Waiting& Find(const Ref<Node>& node, uint32_t from) {
    // The chain case: what was looked up last is looked up next.
    if (node.get() == last_node_) return waiting_[last_];
    last_ = Look(node.get());
    if (last_ == kNone) {
      last_ = Place(node, from);
      if (indexed_) index_.emplace(node.get(), last_);
    }
    last_node_ = node.get();
    return waiting_[last_];
  }
  // Few are looked through; the table is for many.
  uint32_t Look(Node* node) {
    if (!indexed_ && heap_.size() <= kFew) {
      for (uint32_t i : heap_) {
        if (waiting_[i].node.get() == node) return i;
      }
      return kNone;
    }
    if (!indexed_) {
      for (uint32_t i : heap_) index_.emplace(waiting_[i].node.get(), i);
      indexed_ = true;
    }
    auto at = index_.find(node);
    return at == index_.end() ? kNone : at->second;
  }
  uint32_t Place(const Ref<Node>& node, uint32_t from) {
    uint32_t i;
    if (free_.empty()) {
      i = static_cast<uint32_t>(waiting_.size());
      waiting_.emplace_back();
    } else {
      i = free_.back();
      free_.pop_back();
    }
    waiting_[i].node = node;
    waiting_[i].seq = node->seq();
    waiting_[i].from = from;
    waiting_[i].grads.clear();
    waiting_[i].grads.resize(node->outputs());
    heap_.push_back(i);
    std::push_heap(heap_.begin(), heap_.end(), older_);
    return i;
  }
  void Forget(Node* node) {
    if (indexed_) index_.erase(node);
    if (last_node_ == node) last_node_ = nullptr;
  }

  const PlayOptions& options_;
  std::vector<Waiting> waiting_;
  std::vector<uint32_t> free_;
  std::vector<uint32_t> heap_;
  Order older_{&waiting_};
  static constexpr uint32_t kNone = ~uint32_t{0};
  static constexpr size_t kFew = 12;
  std::unordered_map<Node*, uint32_t> index_;  // of waiting nodes, once they were many
  bool indexed_ = false;
  Node* last_node_ = nullptr;
  uint32_t last_ = 0;
};

Ref<Variable> Filled(const Variable& like, bool with_ones) {
  static const OpInfo& op = GetOp("fill_any_like");
  static const Ref<Attrs> ones = [] {
    Ref<Attrs> a = Attrs::Make(op.attr_table);
    a->Set("value", 1.0f);
    return a;
  }();
  GradSwitch off(false);
  Ref<Variable> x = like.Detach();
  return RunUnary(op, with_ones ? ones : op.default_attrs, *x);
}

void CheckRoot(Variable& root, size_t i) {
  if (root.RequiresGrad()) return;
  std::string which = !root.name().empty() ? "'" + root.name() + "'"
                      : i == 0             ? "this Variable"
                                           : "variable " + std::to_string(i);
  const std::string path = "backward(): no recorded path from " + which + " to a parameter: ";
  if (const std::string* reason = root.not_recorded()) {  // with its fix, if it has one of its own
    bool fixed = reason->find(". ") != std::string::npos;
    THROW(PreconditionNotMet, path, *reason,
          fixed ? "" : ". Compute it under dygraph.enable_grad() to record gradients");
  }
  ENFORCE(root.value().empty() || IsInexact(root.value().dtype()), PreconditionNotMet, path,
          "it holds ", root.value().dtype(), ", and only floating-point values have gradients. ",
          "Compute the loss from the values before they became ", root.value().dtype());
  THROW(PreconditionNotMet, path,
        "no input of its computation has stop_gradient = False. Parameters have it by default; set "
        "it on inputs before the computation");
}

Ref<Variable> RootGrad(Variable& root, Variable* given) {
  CurrentThread().OnBackward(root);
  ENFORCE(given || root.value().empty() || !IsComplex(root.value().dtype()), Type,
          "backward(): a loss must be real, got ", root.value().dtype(),
          ". Take its .real or abs(), or give its gradient");
  if (!given) return Filled(root, true);
  ENFORCE(given->value().dims() == root.value().dims(), InvalidArgument,
          "backward(): the given gradient must have the shape of its variable, ",
          root.value().dims(), ", got ", given->value().dims());
  ENFORCE(given->value().dtype() == root.value().dtype(), Type,
          "backward(): the given gradient must have the type of its variable, ",
          root.value().dtype(), ", got ", given->value().dtype());
  return Ref<Variable>(given);
}

// Gradients asked for by grad(): taken from a node as it is played.
struct Capture {
  Ref<Node> node;
  uint32_t index;
  Ref<Variable> grad;
};
struct Captures {
  std::vector<Capture> list;
  std::unordered_multimap<Node*, size_t> of;  // by node

  void Take(Node* node, const GradList& grads) {
    auto [begin, end] = of.equal_range(node);
    for (; begin != end; ++begin) list[begin->second].grad = grads[list[begin->second].index];
  }
};

// Outputs of nodes.
class EdgeSet {
 public:
  void Add(const Edge& edge) {
    edges_.insert({edge.node.get(), edge.index});
    nodes_.push_back(edge.node);
  }
  bool Has(const Edge& edge) const {
    return __builtin_expect(!edges_.empty(), 0) && edges_.count({edge.node.get(), edge.index});
  }

 private:
  using Key = std::pair<const Node*, uint32_t>;
  struct Hash {
    size_t operator()(const Key& key) const {
      return std::hash<const Node*>()(key.first) * 31 + key.second;
    }
  };
  std::unordered_set<Key, Hash> edges_;
  std::vector<Ref<Node>> nodes_;  // held
};

// Marks the thread as one that plays, and whose forward call it plays.
class Playing {
 public:
  Playing() : caller_(CurrentThread().playing_caller) { ++CurrentThread().playing; }
  ~Playing() {
    --CurrentThread().playing;
    CurrentThread().playing_caller = caller_;
  }

 private:
  const std::string* caller_;
};

// What was played, for the path in errors: nodes free their edges, and then one another. The memory
// of a thread's last pass serves its next one.
class Trail {
 public:
  explicit Trail(Span<Variable* const> roots) : roots_(roots) { steps_.swap(Spare()); }
  ~Trail() {
    constexpr size_t kMostKept = 4096;
    if (steps_.capacity() > kMostKept) return;
    steps_.clear();
    steps_.swap(Spare());
  }
  Trail(const Trail&) = delete;
  Trail& operator=(const Trail&) = delete;
  uint32_t Add(const Node& node, uint32_t from) {
    steps_.push_back({node.name(), node.caller, from});
    return static_cast<uint32_t>(steps_.size()) - 1 + Roots();
  }
  // "path of the backward pass: 'loss' -> mean -> ... 12 more ... -> exp -> log", ending in `node`.
  std::string Path(const Node& node, uint32_t from) const {
    std::vector<uint32_t> back;  // from the failing node to the root
    while (from >= Roots()) {
      back.push_back(from);
      from = steps_[from - Roots()].from;
    }
    std::string text = "path of the backward pass: " + NameRoot(from);
    for (size_t i = 0; i < back.size(); ++i) {
      if (i == kFirst && back.size() > kFirst + kLast) {
        size_t left_out = back.size() - kFirst - kLast;
        text += " -> ... " + std::to_string(left_out) + " more ...";
        i += left_out;
      }
      const Step& step = steps_[back[back.size() - 1 - i] - Roots()];
      text += std::string(" -> ") + step.name + Line(step.caller);
    }
    auto* leaf = dynamic_cast<const LeafNode*>(&node);
    return text + " -> " + (leaf ? leaf->NameOutput(0) : node.name() + Line(node.caller));
  }

 private:
  struct Step {
    const char* name;
    const std::string* caller;
    uint32_t from;  // an earlier step, behind the roots
  };
  static constexpr size_t kFirst = 2, kLast = 3;
  static std::vector<Step>& Spare() {
    static thread_local std::vector<Step> steps;
    return steps;
  }
  static std::string Line(const std::string* caller) { return caller ? " (" + *caller + ")" : ""; }
  uint32_t Roots() const { return static_cast<uint32_t>(roots_.size()); }
  std::string NameRoot(uint32_t i) const {
    if (!roots_[i]->name().empty()) return "'" + roots_[i]->name() + "'";
    return Roots() == 1 ? "this Variable" : "variable " + std::to_string(i);
  }
  Span<Variable* const> roots_;
  std::vector<Step> steps_;
};

void CheckNotFreed(const Node& node) {
  ENFORCE(!node.freed(), PreconditionNotMet, "backward(): the graph of ", node.name(),
          " was freed by an earlier backward. Pass retain_graph=True to the earlier one");
}

void PlayNode(Node& node, GradList& grads, GradList* input_grads, const PlayOptions& options) {
  try {
    node.Play(grads, input_grads, options);
  } catch (Error& e) {
    AppendText(e, std::string("in the backward of ") + node.name() +
                      (node.caller ? ", called at " + *node.caller
                                   : ". Under dygraph.detect_anomaly() the line of its forward "
                                     "call is named"));
    throw;
  }
}

bool IsFlat(const Node& node, size_t edge) {
  auto* op = dynamic_cast<const OpNode*>(&node);
  return op && op->IsFlat(edge);
}

// Nothing is passed on over `closed` edges. `zeros` takes the edges over which no gradient went
// because it is zero: all of them in grad(), else those of calls that are flat in an input.
void Play(Pass& pass, Trail& trail, const PlayOptions& options, Captures* captures,
          const std::unordered_set<Node*>* useful, const EdgeSet& closed,
          std::vector<Edge>* zeros) {
  GradSwitch recording(options.create_graph);
  Ref<Node> node;
  GradList grads, input_grads;
  uint32_t played = 0, from = 0;
  while (pass.Next(&node, &grads, &from)) {
    if (__builtin_expect((++played & 63) == 0 && Interpreter().check_signals, 0))
      Interpreter().check_signals();
    try {
      node->RunHooks(&grads);
      if (captures) {
        captures->Take(node.get(), grads);
        if (!useful->count(node.get())) continue;
      }
      CheckNotFreed(*node);
      input_grads.clear();
      input_grads.resize(node->edges().size());
      CurrentThread().playing_caller = node->caller;
      PlayNode(*node, grads, &input_grads, options);
    } catch (Error& e) {
      AppendText(e, trail.Path(*node, from));
      throw;
    }
    const uint32_t step = trail.Add(*node, from);
    grads.clear();
    for (size_t i = 0; i < input_grads.size(); ++i) {
      if (__builtin_expect(i >= node->edges().size(), 0)) node->ThrowFreed();
      const Edge& edge = node->edges()[i];
      if (!edge || closed.Has(edge)) continue;
      if (!input_grads[i]) {
        if (captures ? node->GivesZero(i, true) : IsFlat(*node, i)) zeros->push_back(edge);
        continue;
      }
      if (useful && !useful->count(edge.node.get()) &&
          captures->of.find(edge.node.get()) == captures->of.end()) {
        continue;
      }
      pass.Add(edge, std::move(input_grads[i]), step);
    }
    if (!options.retain_graph) node->edges().clear();
    node.reset();
  }
}

// All edges that zeros reach from these, themselves included; nothing passes `closed` ones.
std::vector<Edge> ReachedByZeros(std::vector<Edge> from, const EdgeSet& closed) {
  std::vector<Edge> all = std::move(from);
  std::unordered_set<Node*> seen;
  for (size_t k = 0; k < all.size(); ++k) {
    Ref<Node> node = all[k].node;
    if (!seen.insert(node.get()).second) continue;
    for (size_t i = 0; i < node->edges().size(); ++i) {
      const Edge& edge = node->edges()[i];
      if (edge && !closed.Has(edge) && node->GivesZero(i, false)) all.push_back(edge);
    }
  }
  return all;
}

// What a gradient of zeros depends on, with derivatives that are zero as well: so there is a next
// order.
class ZeroNode : public Node {
 public:
  explicit ZeroNode(Span<Variable* const> of) : Node(1) {
    for (Variable* v : of) {
      if (v) AddEdge(v->GradEdge());
    }
  }
  void Play(GradList&, GradList*, const PlayOptions&) override {}
  bool GivesZero(size_t, bool) const override { return true; }
  const char* name() const override { return "zeros"; }
};

// Every node reachable from the roots, without recursion; order is newest first.
std::vector<Node*> Reachable(Span<Variable* const> roots) {
  std::unordered_set<Node*> seen;
  std::vector<Node*> stack, all;
  auto visit = [&](Node* n) {
    if (n && seen.insert(n).second) {
      stack.push_back(n);
      all.push_back(n);
    }
  };
  for (Variable* r : roots) visit(r->GradEdge().node.get());
  while (!stack.empty()) {
    Node* n = stack.back();
    stack.pop_back();
    for (const Edge& e : n->edges()) visit(e.node.get());
  }
  std::sort(all.begin(), all.end(), [](Node* a, Node* b) { return a->seq() > b->seq(); });
  return all;
}

}  // namespace

void Backward(Span<Variable* const> roots, Span<Variable* const> grads, bool retain_graph,
              bool create_graph) {
  PlayOptions options{retain_graph || create_graph, create_graph, true};
  Playing playing;
  Pass pass(options);
  for (size_t i = 0; i < roots.size(); ++i) CheckRoot(*roots[i], i);
  for (size_t i = 0; i < roots.size(); ++i) {
    pass.Add(roots[i]->GradEdge(), RootGrad(*roots[i], grads.empty() ? nullptr : grads[i]),
             static_cast<uint32_t>(i));
  }
  std::vector<Edge> zeros;
  static const EdgeSet none;
  Trail trail(roots);
  Play(pass, trail, options, nullptr, nullptr, none, &zeros);
  if (zeros.empty()) return;
  for (const Edge& edge : ReachedByZeros(std::move(zeros), none)) {
    auto* leaf = dynamic_cast<LeafNode*>(edge.node.get());
    if (leaf && leaf->variable() && !leaf->grad) leaf->grad = Filled(*leaf->variable(), false);
  }
}

std::vector<Ref<Variable>> Grad(Span<Variable* const> outputs, Span<Variable* const> inputs,
                                Span<Variable* const> grad_outputs, bool retain_graph,
                                bool create_graph, bool allow_unused,
                                Span<Variable* const> no_grad_vars) {
  PlayOptions options{retain_graph || create_graph, create_graph, false};
  EdgeSet closed;
  for (Variable* v : no_grad_vars) {
    if (Edge edge = v->GradEdge()) closed.Add(edge);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!allow_unused) CheckRoot(*outputs[i], i);
  }
  Captures captures;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Edge edge = inputs[i]->GradEdge();
    ENFORCE(edge, InvalidArgument, "inputs[", i,
            "] of grad() must have stop_gradient = False, got True. Set it before the outputs are "
            "computed");
    captures.of.emplace(edge.node.get(), i);
    captures.list.push_back({edge.node, edge.index, nullptr});
  }
  // A node is worth playing when an input lies beyond it.
  std::vector<Node*> all = Reachable(outputs);
  std::unordered_set<Node*> leads, useful;
  for (const Capture& c : captures.list) leads.insert(c.node.get());
  for (auto n = all.rbegin(); n != all.rend(); ++n) {
    for (const Edge& e : (*n)->edges()) {
      if (e.node && leads.count(e.node.get()) && !closed.Has(e)) {
        useful.insert(*n);
        leads.insert(*n);
        break;
      }
    }
  }
  Playing playing;
  Pass pass(options);
  for (size_t i = 0; i < outputs.size(); ++i) {
    Edge edge = outputs[i]->GradEdge();
    if (edge && !closed.Has(edge))
      pass.Add(edge, RootGrad(*outputs[i], grad_outputs.empty() ? nullptr : grad_outputs[i]),
               static_cast<uint32_t>(i));
  }
  std::vector<Edge> zeros;
  Trail trail(outputs);
  Play(pass, trail, options, &captures, &useful, closed, &zeros);
  bool missing = std::any_of(captures.list.begin(), captures.list.end(),
                             [](const Capture& c) { return !c.grad; });
  if (missing && !zeros.empty()) {
    EdgeSet reached;
    for (const Edge& e : ReachedByZeros(std::move(zeros), closed)) reached.Add(e);
    for (size_t i = 0; i < captures.list.size(); ++i) {
      Capture& c = captures.list[i];
      if (c.grad || !reached.Has({c.node, c.index})) continue;
      c.grad = Filled(*inputs[i], false);
      if (!create_graph) continue;
      Ref<ZeroNode> node = MakeRef<ZeroNode>(outputs);
      for (Variable* g : grad_outputs) {
        if (g) node->AddEdge(g->GradEdge());
      }
      c.grad->SetProducer(Ref<Node>(node.get()), 0);
    }
  }
  std::vector<Ref<Variable>> result;
  for (size_t i = 0; i < captures.list.size(); ++i) {
    ENFORCE(captures.list[i].grad || allow_unused, InvalidArgument, "inputs[", i,
            "] of grad() does not influence the outputs: there is no recorded path to it. Pass "
            "allow_unused=True to get None");
    result.push_back(std::move(captures.list[i].grad));
  }
  return result;
}

std::vector<KeptTensor> KeptFor(Variable& root) {
  std::vector<KeptTensor> list;
  Variable* roots[] = {&root};
  for (Node* n : Reachable({roots, 1})) {
    auto* node = dynamic_cast<OpNode*>(n);
    if (!node || node->freed()) continue;
    for (size_t i = 0; i < node->kept().size(); ++i) {
      RecipeRef r = node->recipe().kept[i];
      const Value& v = node->kept()[i];
      if (v.empty()) continue;  // an absent element of a list
      bool output = r.kind == RecipeRef::kOutput;
      KeptTensor k{node->op().type,
                   (output ? node->op().outputs : node->op().inputs)[r.slot].name,
                   v.dims(),
                   v.dtype(),
                   0,
                   nullptr};
      const Tensor& t = v.is_rows() ? v.rows().value() : v.tensor();
      if (t.has_data()) {
        k.bytes = t.bytes();
        k.block = t.storage().get();
      }
      list.push_back(std::move(k));
    }
  }
  return list;
}

int64_t CountNodes(Variable& root) {
  Variable* roots[] = {&root};
  return static_cast<int64_t>(Reachable({roots, 1}).size());
}

}  // namespace dygraph

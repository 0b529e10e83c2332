// What nodes do when they are played backward, and what they collect.
#include <algorithm>
#include <sstream>
#include <unordered_map>

#include "run/interpreter.h"
#include "run/watch.h"
#include "tape/door.h"
#include "tape/thread_state.h"

namespace dygraph {

namespace {
// What a variable collects over several passes: it stays the same variable unless passes are
// recorded. The sum is held: a function of the user may clear the gradient meanwhile.
Ref<Variable> Accumulated(Ref<Variable> sum, const Ref<Variable>& term) {
  AddGradient(&sum, term, !CurrentThread().recording && sum->IsLeaf());
  return sum;
}
}  // namespace

void AddGradient(Ref<Variable>* sum, const Ref<Variable>& term, bool into_first) {
  static const OpInfo& op = GetOp("sum");
  SlotList<Variable> in;
  in.Push(sum->get());
  in.Push(term.get());
  in.Close();
  SlotList<Variable> target;
  target.Add(sum->get());
  OpOptions options;
  if (into_first) options.targets = &target;
  Outputs out;
  RunOp(op, op.default_attrs, in, &out, options);
  *sum = std::move(out.owned[0]);
}

void AppendText(Error& e, const std::string& text) {
  if (e.kind() != ErrorKind::Interrupted) {
    e.Append("\n" + text);
  } else if (Interpreter().append_to_error) {
    Interpreter().append_to_error(text);
  }
}

std::string Node::NameOutput(uint32_t output) const {
  std::string which = outputs_ == 1 ? "the output" : "output " + std::to_string(output);
  return which + " of " + name() + (caller ? ", called at " + *caller : "");
}

std::string LeafNode::NameOutput(uint32_t) const {
  if (!variable_) return "a leaf";
  if (!variable_->name().empty()) return "'" + variable_->name() + "'";
  std::ostringstream text;
  text << "the leaf of shape " << variable_->value().dims();
  return text.str();
}

void Node::RunHooks(GradList* grads) const {
  if (hooks_) {
    std::vector<HookEntry> hooks = *hooks_;  // a hook may remove itself
    for (const HookEntry& h : hooks) {
      Ref<Variable>& grad = (*grads)[h.output];
      if (!grad) continue;
      try {
        Ref<Variable> other = h.hook(grad);
        if (!other) continue;
        ENFORCE(other->value().dims() == grad->value().dims() &&
                    other->value().dtype() == grad->value().dtype(),
                InvalidArgument, "a hook must give a gradient of the same shape and type, ",
                grad->value().dims(), " of ", grad->value().dtype(), ", got ",
                other->value().dims(), " of ", other->value().dtype());
        grad = std::move(other);
      } catch (Error& e) {
        AppendText(e, "in a hook on the gradient of " + NameOutput(h.output));
        throw;
      }
    }
  }
  for (size_t i = 0; retained_ && i < retained_->size(); ++i) {  // the list may grow meanwhile
    Ref<Variable>& grad = (*grads)[(*retained_)[i].output];
    if (!grad) continue;
    Ref<Variable> sum = (*retained_)[i].grad;
    sum = sum                         ? Accumulated(std::move(sum), grad)
          : CurrentThread().recording ? grad
                                      : grad->Detach();
    (*retained_)[i].grad = std::move(sum);
  }
}

void LeafNode::Play(GradList& output_grads, GradList*, const PlayOptions& options) {
  if (!options.accumulate_leaves || !variable_ || !output_grads[0]) return;
  if (grad) {
    Ref<Variable> sum = Accumulated(grad, output_grads[0]);
    if (variable_) grad = std::move(sum);
  } else if (options.create_graph) {
    grad = std::move(output_grads[0]);
  } else {
    grad = output_grads[0]->unique() ? std::move(output_grads[0]) : output_grads[0]->Detach();
  }
}

SavedValueHooks::SavedValueHooks() : outer_(CurrentThread().saved_value_hooks) {
  CurrentThread().saved_value_hooks = this;
}

SavedValueHooks::~SavedValueHooks() { CurrentThread().saved_value_hooks = outer_; }

void OpNode::Pack(SavedValueHooks& hooks) {
  std::vector<SavedValueHooks::Unpack> packed(kept_.size());
  for (size_t i = 0; i < kept_.size(); ++i) {
    if (kept_[i].is_tensor() && kept_[i].tensor().has_data()) packed[i] = hooks.Pack(kept_[i]);
  }
  for (size_t i = 0; i < kept_.size(); ++i) {
    if (packed[i]) kept_[i] = Value(kept_[i].tensor().Meta());
  }
  packed_ = std::make_unique<std::vector<SavedValueHooks::Unpack>>(std::move(packed));
}

SmallVector<Value, 2> OpNode::Unpack() const {
  SmallVector<Value, 2> values = kept_;
  const std::vector<SavedValueHooks::Unpack> packed = *packed_;  // a hook may free the node
  for (size_t i = 0; i < values.size(); ++i) {
    if (!packed[i]) continue;
    Value v = packed[i]();
    ENFORCE(v.is_tensor() && v.dims() == values[i].dims() && v.dtype() == values[i].dtype(),
            InvalidArgument, "an unpack hook must give back a value of shape ", values[i].dims(),
            " and type ", values[i].dtype(), ", got ", v.dims(), " of ", v.dtype());
    values[i] = std::move(v);
  }
  if (freed_) ThrowFreed();
  return values;
}

namespace {

// A reference as one number, to look it up.
uint64_t KeyOf(RecipeRef r) { return uint64_t{r.kind} << 40 | uint64_t{r.slot} << 32 | r.index; }

// Which values a recipe reads once. Short ones are looked through; for long ones all are counted at
// the first question.
class SoleReaders {
 public:
  explicit SoleReaders(const Recipe& recipe) : recipe_(recipe) {}
  bool Has(RecipeRef value) {
    constexpr size_t kFew = 16;
    int readers = 0;
    if (recipe_.calls.size() <= kFew) {
      ForEach([&](RecipeRef r) { readers += r == value; });
      return readers == 1;
    }
    if (!counts_) {
      counts_ = std::make_unique<std::unordered_map<uint64_t, uint32_t>>();
      ForEach([&](RecipeRef r) { ++(*counts_)[KeyOf(r)]; });
    }
    return (*counts_)[KeyOf(value)] == 1;
  }

 private:
  template <class F>
  void ForEach(const F& f) const {
    for (const RecipeCall& call : recipe_.calls) {
      for (const RecipeSlot& slot : call.in) {
        for (const RecipeRef& r : slot) f(r);
      }
    }
  }
  const Recipe& recipe_;
  std::unique_ptr<std::unordered_map<uint64_t, uint32_t>> counts_;
};

// The in-place pairs of a call that may write into what it reads. `spent(ref)` says that only the
// recipe holds a value; the call itself checks the storage.
template <class Spent>
__attribute__((noinline)) uint32_t SpentPairs(const RecipeCall& call, SoleReaders* sole,
                                              const Spent& spent) {
  if (watch::Switches() || CurrentThread().observed) return 0;
  uint32_t pairs = 0;
  for (size_t i = 0; i < call.op->in_place.size(); ++i) {
    const RecipeSlot& from = call.in[call.op->in_place[i].first];
    if (from.size() != 1 || !sole->Has(from[0])) continue;
    if (spent(from[0])) pairs |= 1u << i;
  }
  return pairs;
}

// Where a reference stands in recipe.kept. Few are looked through; of many an order is made.
class KeptPlaces {
 public:
  explicit KeptPlaces(const std::vector<RecipeRef>& kept) : kept_(kept) {
    constexpr size_t kFew = 16;
    if (kept.size() <= kFew) return;
    order_.resize(kept.size());
    for (size_t i = 0; i < order_.size(); ++i) order_[i] = static_cast<uint32_t>(i);
    std::sort(order_.begin(), order_.end(),
              [&](uint32_t a, uint32_t b) { return KeyOf(kept[a]) < KeyOf(kept[b]); });
  }
  // kept.size(): it is not kept.
  size_t Find(RecipeRef r) const {
    if (order_.empty()) return std::find(kept_.begin(), kept_.end(), r) - kept_.begin();
    auto at = std::lower_bound(order_.begin(), order_.end(), KeyOf(r),
                               [&](uint32_t a, uint64_t key) { return KeyOf(kept_[a]) < key; });
    return at != order_.end() && kept_[*at] == r ? *at : kept_.size();
  }

 private:
  const std::vector<RecipeRef>& kept_;
  std::vector<uint32_t> order_;
};

}  // namespace

void OpNode::Play(GradList& output_grads, GradList* input_grads, const PlayOptions& options) {
  const Recipe& recipe = *recipe_;
  SmallVector<Value, 2> unpacked;
  const bool packed = packed_ != nullptr;
  if (__builtin_expect(packed, 0)) unpacked = Unpack();
  SmallVector<Value, 2>& values = packed ? unpacked : kept_;
  // Kept values become variables again, with the producers they had.
  GradList kept;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].empty()) {  // an absent element of a list
      kept.push_back(nullptr);
      continue;
    }
    Ref<Variable>& v = kept.emplace_back(Variable::Make());
    if (options.retain_graph && !packed) {
      v->fresh_value() = values[i];
    } else {
      v->fresh_value() = std::move(values[i]);
    }
    if (__builtin_expect(numbers_ != nullptr, 0)) v->value_number = (*numbers_)[i];
    if (options.create_graph && IsInexact(v->value().dtype())) {
      if (Edge e = ProducerOf(recipe.kept[i])) v->SetProducer(std::move(e.node), e.index);
    }
  }
  if (!options.retain_graph) {
    kept_.clear();
    packed_.reset();
    freed_ = true;
  }
  SmallVector<Ref<Variable>, 2> temps(recipe.temps);
  KeptPlaces places(recipe.kept);
  SoleReaders sole(recipe);
  auto find = [&](RecipeRef r) -> Variable* {
    switch (r.kind) {
      case RecipeRef::kOutputGrad: return output_grads[FlatOutput(r)].get();
      case RecipeRef::kTemp: return temps[r.index].get();
      case RecipeRef::kAbsent: return nullptr;
      case RecipeRef::kInputGrad: return (*input_grads)[FlatInput(r)].get();
      default: break;
    }
    size_t place = places.Find(r);
    return place < recipe.kept.size() ? kept[place].get() : nullptr;
  };
  auto spent = [&](RecipeRef r) {
    if (r.kind == RecipeRef::kOutputGrad) {
      const Ref<Variable>& grad = output_grads[FlatOutput(r)];
      return grad && grad->unique();
    }
    return r.kind == RecipeRef::kInput || r.kind == RecipeRef::kOutput;  // kept, and no longer
  };
  for (const RecipeCall& call : recipe.calls) {
    SlotList<Variable> in;
    bool complete = true;
    for (size_t s = 0; s < call.in.size(); ++s) {
      size_t present = 0;
      for (const RecipeRef& r : call.in[s]) {
        Variable* v = find(r);
        if (v) ++present;
        // A list that must be given holds what is present, as the terms of a sum; an optional one
        // keeps the places.
        if (v || (call.in[s].size() > 1 && call.op->inputs[s].dispensable())) in.Push(v);
      }
      in.Close();
      // An absent gradient stands for zero: a call that cannot do without it gives zeros, so it is
      // left out.
      complete &= present > 0 || call.op->inputs[s].dispensable();
    }
    if (!complete) continue;
    const bool float64 = call.wide_attrs && AnyFloat64(in);
    const Ref<Attrs>* attrs = &(call.same_attrs ? this->attrs() : call.AttrsFor(float64));
    Ref<Attrs> computed;
    if (call.attr_fn) {
      computed = Attrs::Make(call.op->attr_table);
      call.attr_fn(this->attrs()->data(), computed->mutable_data());
      attrs = &computed;
    }
    OpOptions run;
    run.counts = &call.out_counts;
    run.wanted = &call.out_wanted;
    run.from_tape = true;
    if (!options.retain_graph && !call.op->in_place.empty()) {
      run.spent = SpentPairs(call, &sole, spent);
    }
    Outputs out;
    RunOp(*call.op, *attrs, in, &out, run);
    size_t flat = 0;
    for (const RecipeSlot& slot : call.out) {
      for (const RecipeRef& r : slot) {
        Ref<Variable>& result = out.owned[flat++];
        if (r.kind == RecipeRef::kTemp) temps[r.index] = std::move(result);
        if (r.kind == RecipeRef::kInputGrad) (*input_grads)[FlatInput(r)] = std::move(result);
      }
    }
  }
}

void FunctionNode::Play(GradList& output_grads, GradList* input_grads, const PlayOptions& options) {
  Backward backward = backward_;
  if (!options.retain_graph) backward_ = nullptr;
  backward(output_grads, input_grads, options.create_graph);
  for (size_t i = 0; i < expected_.size(); ++i) {
    const Ref<Variable>& g = (*input_grads)[i];
    if (!g) continue;
    ENFORCE(g->value().dims() == expected_[i].first && g->value().dtype() == expected_[i].second,
            InvalidArgument, *name_, ": backward must give gradient ", i,
            " in the shape and type of its input, ", expected_[i].first, " of ",
            expected_[i].second, ", got ", g->value().dims(), " of ", g->value().dtype());
  }
}

}  // namespace dygraph

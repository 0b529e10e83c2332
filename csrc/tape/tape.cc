#include "tape/tape.h"

#include <algorithm>
#include <string>

#include "op/per_op.h"
#include "op/recipes.h"
#include "op/zero_derivative.h"
#include "run/watch.h"
#include "tape/thread_state.h"

namespace dygraph {

namespace {
bool IsForeign(const Value& v) {
  return v.is_tensor() && v.tensor().storage() && v.tensor().storage()->foreign();
}

// Whether the call depends on an input with a derivative that is zero everywhere.
bool AnyFlat(const EagerCall& call, const WantedSet& wanted) {
  int flat = 0;
  for (size_t s = 0; s < call.op.inputs.size(); ++s) {
    for (int i = 0; i < call.in.count(static_cast<int>(s)); ++i, ++flat) {
      if (wanted.Has(flat) && DerivativeIsZero(call.op, static_cast<int>(s))) return true;
    }
  }
  return false;
}

// A node whose operator does not keep its recipe: of long lists.
class LongOpNode : public OpNode {
 public:
  LongOpNode(const OpInfo& op, std::shared_ptr<const Recipe> recipe, Ref<Attrs> attrs,
             uint32_t outputs)
      : OpNode(op, *recipe, std::move(attrs), outputs), recipe_(std::move(recipe)) {}
  static void* operator new(size_t size) { return ::operator new(size); }
  static void operator delete(void* p) { ::operator delete(p); }

 private:
  std::shared_ptr<const Recipe> recipe_;
};

// What was computed under no_grad stays explained in what is computed from it.
void KeepReason(const EagerCall& call) {
  for (Variable* from : call.in.flat()) {
    if (!from || !from->not_recorded()) continue;
    for (Variable* to : call.out.flat()) {
      if (to) to->set_not_recorded(from->not_recorded());
    }
    return;
  }
}

// Results of an operator without a gradient say so in the error of backward().
__attribute__((noinline)) void MarkCut(const EagerCall& call) {
  static PerOp<std::string> reasons([](const OpInfo& op) -> const std::string* {
    return new std::string(
        "it comes from " + op.type +
        ", which has no gradient. Compute the loss from floating-point values before it");
  });
  for (Variable* to : call.out.flat()) {
    if (to && !to->RequiresGrad()) to->set_not_recorded(&reasons[call.op]);
  }
}

__attribute__((noinline)) void LookBack(const EagerCall& call);
}  // namespace

Value Lasting(const Value& v) {
  if (!IsForeign(v)) return v;
  Tensor copy = v.tensor().Clone();
  copy.SetLoD(v.tensor().lod_ref());
  return Value(std::move(copy));
}

void TapeLayer::Run(EagerCall& call) {
  Below(call);
  if (__builtin_expect(call.marks != 0, 0)) LookBack(call);
}

namespace {
void RecordLong(const EagerCall& call, const WantedSet& wanted);
void Record(const EagerCall& call, const WantedSet& wanted, const Recipe& recipe,
            const std::shared_ptr<const Recipe>* own);

// At a finished call, an input of which has a mark.
void LookBack(const EagerCall& call) {
  if (!(call.marks & Variable::kWantsGradient)) return KeepReason(call);
  if (call.op.has_no_grad) return MarkCut(call);
  Span<Variable* const> in = call.in.flat();
  const size_t few = std::min<size_t>(in.size(), 64);
  uint64_t bits = 0;
  for (size_t i = 0; i < few; ++i) {
    if (in[i] && in[i]->RequiresGrad()) bits |= uint64_t{1} << i;
  }
  WantedSet wanted(bits);
  for (size_t i = few; i < in.size(); ++i) {
    if (in[i] && in[i]->RequiresGrad()) wanted.Set(static_cast<int>(i));
  }
  const Recipe* kept = FindRecipe(call.op, *call.attrs, call.in.ends(), call.out.ends(), wanted);
  if (__builtin_expect(!kept, 0)) return RecordLong(call, wanted);
  Record(call, wanted, *kept, nullptr);
}

void RecordLong(const EagerCall& call, const WantedSet& wanted) {
  std::shared_ptr<const Recipe> own =
      MakeRecipe(call.op, *call.attrs, call.in.ends(), call.out.ends(), wanted);
  Record(call, wanted, *own, &own);
}

// `own`: the recipe, where the node has to hold it.
void Record(const EagerCall& call, const WantedSet& wanted, const Recipe& recipe,
            const std::shared_ptr<const Recipe>* own) {
  Span<Variable* const> in = call.in.flat();
  if (recipe.calls.empty() && !AnyFlat(call, wanted)) return MarkCut(call);
  Span<Variable* const> out = call.out.flat();
  auto outputs = static_cast<uint32_t>(out.size());
  // Default attributes live as long as the operator.
  Ref<Attrs> attrs;
  if (call.attrs != call.op.default_attrs) attrs = call.attrs;
  auto node = Ref<OpNode>::New(own ? new LongOpNode(call.op, *own, std::move(attrs), outputs)
                                   : new OpNode(call.op, recipe, std::move(attrs), outputs));
  Span<const uint32_t> in_ends = call.in.ends(), out_ends = call.out.ends();
  node->in_ends.Append(in_ends.begin(), in_ends.end());
  node->out_ends.Append(out_ends.begin(), out_ends.end());
  for (Variable* v : in) node->AddEdge(v ? v->GradEdge() : Edge());
  SmallVector<Value, 2>& kept = node->kept();
  for (RecipeRef r : recipe.kept) {
    bool is_output = r.kind == RecipeRef::kOutput;
    Variable* from = is_output ? call.out.at(r.slot, r.index) : call.in.at(r.slot, r.index);
    bool made = from && !from->value().empty();
    ENFORCE(made || !is_output, Unimplemented, call.op.type, ": its gradient reads Output(",
            call.op.outputs[r.slot].name, "), which this call, part of a gradient, did not make");
    if (!from) {  // an element of a list that keeps its places
      kept.emplace_back();
      continue;
    }
    const Value& v = from->value();
    if (r.kind == RecipeRef::kInputShape && v.is_tensor()) {
      kept.emplace_back().MutableTensor().SetMeta(v.tensor());
    } else if (r.kind == RecipeRef::kInputShape && v.is_array()) {
      kept.emplace_back(v.array().Meta());
    } else if (__builtin_expect(IsForeign(v), 0)) {
      kept.emplace_back(Lasting(v));
    } else {
      kept.emplace_back(v);
    }
  }
  if (__builtin_expect(CurrentThread().listeners != nullptr, 0)) {
    std::vector<uint64_t> numbers;
    for (RecipeRef r : recipe.kept) {
      bool is_output = r.kind == RecipeRef::kOutput;
      Variable* from = is_output ? call.out.at(r.slot, r.index) : call.in.at(r.slot, r.index);
      numbers.push_back(from ? from->value_number : 0);
    }
    node->KeepNumbers(std::move(numbers));
  }
  if (__builtin_expect(watch::Switches() & watch::kCallers, 0)) node->caller = call.values.line;
  if (__builtin_expect(CurrentThread().saved_value_hooks != nullptr, 0))
    node->Pack(*CurrentThread().saved_value_hooks);
  auto has_producer = [&](size_t i) {
    return out[i] && !out[i]->value().empty() && IsInexact(out[i]->value().dtype());
  };
  for (size_t i = 1; i < out.size(); ++i) {
    if (has_producer(i)) out[i]->SetProducer(Ref<Node>(node.get()), static_cast<uint32_t>(i));
  }
  if (has_producer(0)) out[0]->SetProducer(Ref<Node>::Adopt(node.Detach()), 0);
}
}  // namespace

}  // namespace dygraph

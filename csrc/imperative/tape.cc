#include "imperative/tape.h"

#include "imperative/thread_state.h"
#include "imperative/watch.h"

namespace dygraph {

Value Lasting(const Value& v) {
  if (__builtin_expect(!v.is_tensor() || !v.tensor().storage() || !v.tensor().storage()->foreign(),
                       1))
    return v;
  Tensor copy = v.tensor().Clone();
  copy.SetLoD(v.tensor().lod_ref());
  return Value(std::move(copy));
}

void RecordOnTape(const CallRecord& call) {
  Span<Variable* const> in = call.in.flat();
  WantedSet wanted;
  for (size_t i = 0; i < in.size(); ++i) {
    if (in[i] && in[i]->RequiresGrad()) wanted.Set(static_cast<int>(i));
  }
  // what was computed under no_grad stays explained in what is computed from it
  if (!wanted.any()) {
    for (Variable* from : in) {
      if (__builtin_expect(!from || !from->not_recorded, 1)) continue;
      for (Variable* to : call.out.flat()) {
        if (to) to->not_recorded = from->not_recorded;
      }
      break;
    }
    return;
  }
  if (call.op.has_no_grad) return;
  const Recipe& recipe = GetRecipe(call.op, *call.attrs, call.in.ends(), call.out.ends(), wanted);
  if (recipe.calls.empty()) return;
  Span<Variable* const> out = call.out.flat();
  // Edges before the node: a leaf node made here must be older than all that read it, or it would
  // play too early.
  SmallVector<Edge, 2> edges;
  for (size_t i = 0; i < in.size(); ++i) {
    edges.push_back(wanted.Has(static_cast<int>(i)) ? in[i]->GradEdge() : Edge());
  }
  Ref<OpNode> node(new OpNode(call.op, recipe, call.attrs, static_cast<uint32_t>(out.size())));
  node->edges() = std::move(edges);
  Span<const uint32_t> in_ends = call.in.ends(), out_ends = call.out.ends();
  node->in_ends.Append(in_ends.begin(), in_ends.end());
  node->out_ends.Append(out_ends.begin(), out_ends.end());
  SmallVector<Value, 2>& kept = node->kept();
  for (RecipeRef r : recipe.kept) {
    bool is_output = r.kind == RecipeRef::kOutput;
    Variable* from = is_output ? call.out.at(r.slot, r.index) : call.in.at(r.slot, r.index);
    ENFORCE(from || !is_output, Unimplemented, call.op.type, ": its gradient reads Output(",
            call.op.outputs[r.slot].name, "), which this call, part of a gradient, did not make");
    if (!from) {  // an element of a list that keeps its places
      kept.push_back(Value());
    } else if (r.kind != RecipeRef::kInputShape) {
      kept.push_back(Lasting(from->value()));
    } else {
      const Value& v = from->value();
      kept.push_back(v.is_tensor() ? Value(v.tensor().Meta()) : v);
    }
  }
  if (__builtin_expect(watch::Switches() & watch::kCallers, 0)) {
    bool playing = CurrentThread().playing > 0;
    node->caller = playing ? CurrentThread().playing_caller : watch::Caller();
  }
  if (__builtin_expect(CurrentThread().saved_value_hooks != nullptr, 0))
    node->Pack(*CurrentThread().saved_value_hooks);
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i] && !out[i]->value().empty() && IsFloating(out[i]->value().dtype())) {
      out[i]->SetProducer(Ref<Node>(node.get()), static_cast<uint32_t>(i));
    }
  }
}

}  // namespace dygraph

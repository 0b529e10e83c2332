#include "tape/door.h"

#include "op/call_checks.h"
#include "run/run.h"
#include "run/watch.h"
#include "tape/thread_state.h"

namespace dygraph {

namespace {

int CountOf(const OpInfo& op, size_t s, const Call& call, const OpOptions& options) {
  const SlotInfo& slot = op.outputs[s];
  if (options.counts && s < options.counts->size() && (*options.counts)[s] >= 0) {
    int count = (*options.counts)[s];
    ENFORCE(count <= 1 || slot.duplicable(), InvalidArgument, "Output(", slot.name,
            ") is a single variable, got a request for ", count);
    return count;
  }
  if (__builtin_expect(slot.duplicable(), 0)) {
    ENFORCE(op.output_count, InvalidArgument, "the length of Output(", slot.name,
            ") does not follow from the inputs. Give it as outputs={'", slot.name, "': n}");
    return op.output_count(static_cast<int>(s), call);
  }
  return slot.extra() && !options.extras ? 0 : 1;
}

void MakeOutputs(const OpInfo& op, const Call& call, const OpOptions& options, Outputs* out) {
  int flat = 0;
  for (size_t s = 0; s < op.outputs.size(); ++s) {
    for (int i = CountOf(op, s, call, options); i > 0; --i, ++flat) {
      bool wanted = !options.wanted || options.wanted->Has(flat);
      Ref<Variable>& made = out->owned.emplace_back();
      if (wanted) made = Variable::Make();
      out->slots.Push(made.get());
    }
    out->slots.Close();
  }
}

uint32_t ReusablePairs(const EagerCall& call) {
  uint32_t pairs = 0;
  for (size_t i = 0; i < call.op.in_place.size(); ++i) {
    Variable* target = call.targets->at(call.op.in_place[i].second);
    if (target && target == call.in.at(call.op.in_place[i].first)) pairs |= 1u << i;
  }
  return pairs;
}

// Outputs whose inputs wanted gradients while recording was off remember why, for the error of
// backward().
__attribute__((noinline)) void MarkNotRecorded(const EagerCall& call) {
  static const std::string kNoGrad = "it was computed under no_grad";
  const std::string* reason = nullptr;
  for (Variable* v : call.in.flat()) {
    if (!v) continue;
    if (v->RequiresGrad()) {
      const std::string* layer = CurrentThread().grad_off_reason;
      reason = layer ? layer : &kNoGrad;
      break;
    }
    if (v->not_recorded()) reason = v->not_recorded();
  }
  if (!reason) return;
  for (Variable* v : call.out.flat()) {
    if (v) v->set_not_recorded(reason);
  }
}

__attribute__((noinline)) void WriteTargets(EagerCall& call) {
  Span<Variable* const> flat = call.out.flat();
  size_t i = 0;
  for (int s = 0; s < call.out.slots(); ++s) {
    for (int k = 0; k < call.out.count(s); ++k, ++i) {
      Variable* target = call.targets->at(s, k);
      if (!target || !flat[i]) continue;
      target->Become(*flat[i]);
      call.result->owned[i] = Ref<Variable>(target);
    }
  }
}

}  // namespace

void RunOp(const OpInfo& op, const Ref<Attrs>& attrs, const SlotList<Variable>& in, Outputs* out,
           const OpOptions& options) {
  ThreadState& thread = CurrentThread();
  EagerCall call(op, attrs, in, out, options);
  Call& values = call.values;
  values.from_tape = options.from_tape;
  values.place = thread.place;
  values.queue = options.queue;
  values.reuse = options.spent;
  uint8_t marks = 0;
  values.in.Map(in, [&marks](Variable* v) -> const Value* {
    if (!v) return nullptr;
    marks |= v->marks();
    return &v->value();
  });
  call.marks = marks;
  if (__builtin_expect(op.one_output && !options.counts && !options.wanted, 1)) {
    Variable* made = out->owned.emplace_back(Variable::Make()).get();
    out->slots.Add(made);
    values.out.Add(&made->fresh_value());
  } else {
    try {
      MakeOutputs(op, values, options, out);
    } catch (...) {
      RethrowFor(op);
    }
    values.out.Map(out->slots, [](Variable* v) { return v ? &v->fresh_value() : nullptr; });
  }
  if (__builtin_expect(marks & Variable::kSymbolic, 0)) return thread.describing_layer->Run(call);
  // An observer sees the old value beside the new one.
  if (options.targets && !thread.recording && !thread.observed)
    values.reuse = ReusablePairs(call);
  if (__builtin_expect(watch::Switches() != 0, 0)) {
    values.backward = thread.playing > 0;
    values.line = thread.playing_caller;
  }
  if (thread.layer) {
    thread.layer->Run(call);
  } else {
    Run(values);
  }
  if (__builtin_expect(marks != 0, 0) && !thread.recording) MarkNotRecorded(call);
  if (__builtin_expect(call.targets != nullptr, 0)) WriteTargets(call);
}

void DescribeOp(const OpInfo& op, const Ref<Attrs>& attrs, const SlotList<Variable>& in,
                Outputs* out, const OpOptions& options) {
  EagerCall call(op, attrs, in, out, options);
  call.marks = Variable::kSymbolic;
  call.values.in.Map(in, [&call](Variable* v) -> const Value* {
    if (!v) return nullptr;
    call.marks |= v->marks();
    return &v->value();
  });
  MakeOutputs(op, call.values, options, out);
  call.values.out.Map(out->slots, [](Variable* v) { return v ? &v->fresh_value() : nullptr; });
  CurrentThread().describing_layer->Run(call);
}

Ref<Variable> RunUnary(const OpInfo& op, const Ref<Attrs>& attrs, Variable& x) {
  SlotList<Variable> in;
  in.Add(&x);
  Outputs out;
  RunOp(op, attrs, in, &out);
  return std::move(out.owned[0]);
}

Ref<Variable> RunBinary(const OpInfo& op, const Ref<Attrs>& attrs, Variable& x, Variable& y) {
  SlotList<Variable> in;
  in.Add(&x);
  in.Add(&y);
  Outputs out;
  RunOp(op, attrs, in, &out);
  return std::move(out.owned[0]);
}

}  // namespace dygraph

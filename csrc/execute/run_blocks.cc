// Operators that run a block of the program: loops, choices, steps over time. A block works on the
// values of the whole program, so that a turn costs what its operators cost.
#include <algorithm>
#include <sstream>

#include "base/flags.h"
#include "execute/frame.h"
#include "execute/kept_steps.h"
#include "execute/term_order.h"
#include "program/op_binding.h"
#include "run/interpreter.h"
#include "run/run.h"

namespace dygraph {

FLAG(int64_t, while_turns, 0,
     "the limit of iterations of a loop of a program, which then raises; 0: no limit");

namespace program {

namespace {

bool IsTrue(const PlanSlot& slot, const Value& value) {
  ENFORCE(!value.empty(), PreconditionNotMet, "the condition '", slot.name,
          "' must be written before it is asked for, but it holds nothing");
  const Tensor& t = value.tensor();
  ENFORCE(t.dtype() == DType::kBool && t.numel() == 1, InvalidArgument, "the condition '",
          slot.name, "' must be one bool, got ", t.dtype(), " of shape ", t.dims(),
          ". Compare to get a bool, and reduce it to one");
  return t.place() == CPUPlace() ? *t.data<bool>() : *CopyTo(t, CPUPlace()).data<bool>();
}

std::string TurnText(const OpDesc& op, int64_t turn) {
  const auto* lines = op.FindAttr<std::vector<std::string>>(kCallstackAttr);
  std::string made = lines && !lines->empty() ? " made at " + lines->back() : "";
  return ", in iteration " + std::to_string(turn) + " of the " + op.type + made;
}

// An operator that makes one tensor of several, with its usual attributes.
Value Joined(const char* type, const std::vector<Value>& steps, Place place) {
  const OpInfo& op = GetOp(type);
  Call call;
  call.op = &op;
  call.attrs = op.default_attrs->data();
  call.place = place;
  for (const Value& step : steps) call.in.Push(&step);
  call.in.Close();
  Value out;
  call.out.Add(&out);
  dygraph::Run(call);
  return out;
}

// Adds the terms to the sum, from left to right; the first one that holds something is taken.
template <class Terms>
void AddTerms(const Terms& terms, Place place, Value* sum) {
  Call call;
  int count = 0;
  const Value* first = nullptr;
  auto add = [&](const Value& v) {
    if (v.empty()) return;
    if (count++ == 0) first = &v;
    call.in.Push(&v);
  };
  add(*sum);
  for (const Value* term : terms) add(*term);
  if (count == 0 || (count == 1 && first == sum)) return;
  if (count == 1) {
    *sum = *first;
    return;
  }
  static const OpInfo& op = GetOp("sum");
  call.op = &op;
  call.attrs = op.default_attrs->data();
  call.place = place;
  call.reuse = first == sum;
  call.in.Close();
  Value out;
  call.out.Add(&out);
  dygraph::Run(call);
  *sum = std::move(out);
}

// Element t along the first axis.
Tensor Slice(const Tensor& x, int64_t t) {
  return x.Rows(t, t + 1).Reshaped(Dims(x.dims().begin() + 1, x.dims().end()));
}

}  // namespace

// Why a variable that is read in `block` holds nothing: the blocks whose operators would have
// written it, none of which ran; empty where no other block writes it.
std::string PreparedProgram::UnwrittenText(int slot, int block) const {
  const std::vector<int32_t> around = program_->VisibleBlocks(block);
  std::string blocks;
  int count = 0;
  ForEachOp(plan_.ops, [&](const PlanOp& each) {
    if (!each.control) return;
    const auto& ops = each.control->body.ops;
    auto writes = [&](const PlanOp& op) { return !op.control && op.Writes(slot); };
    if (std::none_of(ops.begin(), ops.end(), writes)) return;
    if (std::count(around.begin(), around.end(), ops[0].block) > 0) return;
    const auto* lines = each.desc->FindAttr<std::vector<std::string>>(kCallstackAttr);
    blocks += (count++ ? ", " : "") + each.desc->type +
              (lines && !lines->empty() ? " made at " + lines->back() : "");
  });
  if (count == 0) return "";
  return "'" + plan_.slots[slot].name + "' holds nothing: the block" +
         (count > 1 ? "s that write it (" + blocks + ") were"
                    : " that writes it (" + blocks + ") was") +
         " not run";
}

// An operator's error where it reads what blocks that did not run would have written.
void PreparedProgram::ThrowUnwritten(const PlanOp& op, const Frame& frame) const {
  uint32_t k = 0;
  for (size_t slot = 0; slot < op.in_ends.size(); ++slot) {
    for (; k < op.in_ends[slot]; ++k) {
      const int s = op.in[k];
      if (s < 0 || !frame.values[s]->empty() || op.info->inputs[slot].may_be_unwritten()) continue;
      const std::string text = UnwrittenText(s, op.block);
      if (text.empty()) continue;
      Error error(ErrorKind::PreconditionNotMet, "the variable " + text);
      error.AddOperator(op.desc->type);
      error.Append(PositionText(*op.desc, op.position, op.block));
      throw error;
    }
  }
}

// Of second order: adds a turn's terms of a kept value to what there is. Where the turn before made
// the value under another name, there is one sum: of a state of recurrent that of the turn before,
// whose output comes next, else that of this turn, whose readers come next.
void PreparedProgram::AddKept(const PlanControl& control, const PlanControl::KeptGradient& kept,
                              int64_t turn, Frame& frame, KeptSteps* gradients) const {
  const bool made = kept.made_as >= 0 && turn > 0;
  const bool back = made && control.forward->forward->kind == Control::kRecurrent;
  const int number = back ? kept.made_as : kept.number;
  const int64_t at = back ? turn - 1 : turn;
  Value sum = gradients->Take(at, number), same;
  SmallVector<const Value*, 8> terms;
  if (made && !back) {
    same = std::exchange(sum, gradients->Take(turn - 1, kept.made_as));
    terms.push_back(&same);
  }
  if (turn == 0 && kept.first >= 0) terms.push_back(frame.values[kept.first]);
  for (int s : kept.terms) terms.push_back(frame.values[s]);
  AddTerms(terms, place_, &sum);
  gradients->Set(at, number, std::move(sum));
}

// What a run of the block leaves in the variables it declares ends with it.
void PreparedProgram::ClearLocals(const PlanControl& control, Frame& frame) {
  for (int s : control.body.locals) {
    if (!frame.values[s]->empty()) *frame.values[s] = Value();
  }
}

void PreparedProgram::RunBody(const PlanOp& op, Frame& frame, Bound& bound, RandomStreams random,
                              int64_t turn, KeptSteps* kept) const {
  const PlanControl& control = *op.control;
  ClearLocals(control, frame);
  RunKept(op, frame, bound, random, turn, kept);
}

void PreparedProgram::RunKept(const PlanOp& op, Frame& frame, Bound& bound, RandomStreams random,
                              int64_t turn, KeptSteps* kept) const {
  const PlanControl& control = *op.control;
  if (!kept) return RunTurn(op, frame, bound, random, turn);
  const PlanControl::Keeping* keeping = control.keeping.data();
  auto keep = [&](int slot) {
    Value& value = *frame.values[slot];
    Value& place = kept->Next();
    const auto how = *keeping++;
    if (how == PlanControl::Keeping::kMove)
      place = std::move(value);
    else if (how == PlanControl::Keeping::kCopy || !value.is_tensor())
      place = value;
    else
      place.MutableTensor().SetMeta(value.tensor());
  };
  for (int s : control.kept_before) keep(s);
  RunTurn(op, frame, bound, random, turn);
  for (int s : control.kept_after) keep(s);
  kept->EndTurn();
}

// What the turns of the operator go into, in the variable of that slot; null where no gradient
// reads them.
Ref<KeptSteps> PreparedProgram::NewSteps(const PlanOp& op, int slot, Frame& frame) const {
  const PlanControl& control = *op.control;
  if (slot < 0) return nullptr;
  auto steps =
      MakeRef<KeptSteps>(control.kept_before.size() + control.kept_after.size(), op.control);
  *frame.values[slot] = Value(VarKind::kSteps, Ref<KeptSteps>(steps));
  return steps;
}

void PreparedProgram::RunTurn(const PlanOp& op, Frame& frame, Bound& bound, RandomStreams random,
                              int64_t turn) const {
  try {
    RunOps({op.control->body.ops, bound.body}, frame, random);
  } catch (Error& e) {
    e.Append(TurnText(*op.desc, turn));
    throw;
  }
}

void PreparedProgram::RunWhile(const PlanOp& op, Frame& frame, Bound& bound,
                               RandomStreams random) const {
  const int condition = op.control->conditions[0];
  void (*check_signals)() = Interpreter().check_signals;
  const Ref<KeptSteps> kept = NewSteps(op, op.control->steps, frame);
  const int64_t most = FLAGS_while_turns;
  for (int64_t turn = 0; IsTrue(plan_.slots[condition], *frame.values[condition]); ++turn) {
    ENFORCE(most <= 0 || turn < most, ResourceExhausted, "a loop may have ", most,
            " iterations (FLAGS_while_turns), but its condition '", plan_.slots[condition].name,
            "' still holds", PositionText(*op.desc, op.position, op.block));
    RunBody(op, frame, bound, random, turn, kept.get());
    if (check_signals) check_signals();
  }
}

void PreparedProgram::RunCondition(const PlanOp& op, Frame& frame, Bound& bound,
                                   RandomStreams random) const {
  const PlanControl& control = *op.control;
  const Ref<KeptSteps> kept = NewSteps(op, op.control->steps, frame);
  for (int s : control.conditions) {
    const Value& value = *frame.values[s];
    const bool holds = control.scalar ? IsTrue(plan_.slots[s], value)
                                      : value.is_tensor() && value.tensor().numel() > 0;
    if (!holds) return;
  }
  RunBody(op, frame, bound, random, 0, kept.get());
}

void PreparedProgram::RunRecurrent(const PlanOp& op, Frame& frame, Bound& bound,
                                   RandomStreams random) const {
  const PlanControl& control = *op.control;
  std::vector<Tensor> inputs;
  for (auto [outside, inside] : control.sliced)
    inputs.push_back(frame.values[outside]->tensor().Plain());
  const int64_t steps = inputs[0].rank() > 0 ? inputs[0].dim(0) : 0;
  const bool even = std::all_of(inputs.begin(), inputs.end(),
                                [&](const Tensor& t) { return t.rank() > 0 && t.dim(0) == steps; });
  if (!even || steps == 0) {
    std::ostringstream shapes;
    for (size_t i = 0; i < inputs.size(); ++i) {
      shapes << (i ? ", '" : "'") << plan_.slots[control.sliced[i].first].name << "' of shape "
             << inputs[i].dims();
    }
    THROW(InvalidArgument, "inputs must have one number of steps, at least 1, along axis 0, got ",
          shapes.str(), ". Pad or cut them to one length",
          PositionText(*op.desc, op.position, op.block));
  }
  std::vector<std::vector<Value>> results(control.stacked.size());
  for (auto& list : results) list.resize(steps);
  const Ref<KeptSteps> kept = NewSteps(op, op.control->steps, frame);
  for (int64_t turn = 0; turn < steps; ++turn) {
    const int64_t t = control.reverse ? steps - 1 - turn : turn;
    std::vector<Value> states;
    for (auto [state, before] : control.handed)
      states.push_back(turn > 0 ? *frame.values[state] : Value());
    ClearLocals(control, frame);
    for (size_t i = 0; i < inputs.size(); ++i)
      *frame.values[control.sliced[i].second] = Value(Slice(inputs[i], t));
    for (size_t i = 0; i < states.size(); ++i) {
      *frame.values[control.handed[i].second] =
          turn > 0 ? std::move(states[i]) : *frame.values[control.initial[i].first];
    }
    RunKept(op, frame, bound, random, turn, kept.get());
    for (size_t i = 0; i < results.size(); ++i)
      results[i][t] = *frame.values[control.stacked[i].second];
  }
  for (size_t i = 0; i < results.size(); ++i)
    *frame.values[control.stacked[i].first] = Joined("stack", results[i], place_);
}

// The turns that were kept, the last one first. Of second order these are the turns back, so that
// it goes the way of the forward turns.
void PreparedProgram::RunGradient(const PlanOp& op, Frame& frame, Bound& bound,
                                  RandomStreams random) const {
  const PlanControl& control = *op.control;
  auto value_of = [&](int slot) { return slot < 0 ? Value() : *frame.values[slot]; };
  auto steps_in = [&](int slot, const PlanControl* of) -> const KeptSteps& {
    const auto& steps = frame.values[slot]->Object<KeptSteps>(VarKind::kSteps);
    ENFORCE(steps.IsOf(of), Format, "the steps in '", plan_.slots[slot].name,
            "' must be those of the block it is the gradient of, got another block's",
            PositionText(*op.desc, op.position, op.block));
    return steps;
  };
  const Value held = value_of(control.steps), held_gradients = value_of(control.kept_from);
  const KeptSteps& kept = steps_in(control.steps, control.forward);
  const int64_t turns = kept.turns();
  const bool takes = control.only_reader && !frame.again;
  const bool second = control.kind == Control::kSecondGrad;
  const Ref<KeptSteps> own = NewSteps(op, control.own_steps, frame);
  const KeptSteps* given = nullptr;
  Ref<KeptSteps> found;
  if (!held_gradients.empty()) {
    const PlanControl* of = second ? control.forward->forward : control.forward;
    given = &steps_in(control.kept_from, of);
  }
  if (control.kept_to >= 0) {
    const PlanControl& of = *control.forward->forward;
    found = MakeRef<KeptSteps>(of.kept_before.size() + of.kept_after.size(), of.shared_from_this());
    found->Fill(turns, given);
  }
  std::vector<Value> flows, sums;
  for (const PlanControl::Flow& flow : control.flows) flows.push_back(value_of(flow.from));
  std::vector<TermSum> orders;
  for (const PlanControl::Gather& gather : control.gathers) {
    sums.push_back(value_of(gather.before));
    orders.emplace_back(gather.notes.get());
    if (gather.before >= 0) orders.back().Add(0, 1, frame.values);
  }
  std::vector<Tensor> arriving;
  for (auto [outside, inside] : control.sliced) {
    const Value& value = *frame.values[outside];
    arriving.push_back(value.empty() ? Tensor() : value.tensor().Plain());
  }
  std::vector<std::vector<Value>> stacked(control.stacked.size());
  for (auto& list : stacked) list.resize(turns);
  SmallVector<const Value*, 8> terms;
  for (int64_t turn = turns - 1; turn >= 0; --turn) {
    const int64_t t = control.reverse ? turns - 1 - turn : turn;
    ClearLocals(control, frame);
    for (size_t i = 0; i < arriving.size(); ++i) {
      *frame.values[control.sliced[i].second] =
          arriving[i].has_data() ? Value(Slice(arriving[i], t)) : Value();
    }
    for (auto [number, slot] : control.restored) {
      *frame.values[slot] = takes ? kept.Take(turn, number) : Value(kept.at(turn, number));
    }
    for (size_t i = 0; i < flows.size(); ++i)
      *frame.values[control.flows[i].in] = std::move(flows[i]);
    if (!found) {
      for (const PlanControl::KeptGradient& each : control.kept_gradients)
        *frame.values[each.slot] = given ? Value(given->at(turn, each.number)) : Value();
    }
    RunKept(op, frame, bound, random, turn, own.get());
    for (size_t i = 0; i < flows.size(); ++i) flows[i] = value_of(control.flows[i].out);
    for (size_t i = 0; i < stacked.size(); ++i) {
      if (control.stacked[i].second >= 0) stacked[i][t] = *frame.values[control.stacked[i].second];
    }
    for (size_t i = 0; i < sums.size(); ++i) {
      terms.clear();
      for (int s : control.gathers[i].terms) terms.push_back(frame.values[s]);
      orders[i].Add(control.gathers[i].before >= 0, SIZE_MAX, frame.values);
      if (!orders[i].Get(place_, &sums[i])) AddTerms(terms, place_, &sums[i]);
    }
    if (!found) continue;
    for (const PlanControl::KeptGradient& each : control.kept_gradients)
      AddKept(control, each, turns - 1 - turn, frame, found.get());
  }
  for (size_t i = 0; i < stacked.size(); ++i) {
    auto has = [](const Value& v) { return !v.empty(); };
    if (std::none_of(stacked[i].begin(), stacked[i].end(), has)) continue;
    const Tensor like = frame.values[control.stacked_like[i]]->tensor().Plain();
    for (int64_t t = 0; t < turns; ++t) {
      if (!has(stacked[i][t]))
        stacked[i][t] = Joined("fill_zeros_like", {Value(Slice(like, t))}, place_);
    }
    *frame.values[control.stacked[i].first] = Joined("stack", stacked[i], place_);
  }
  for (const PlanControl::Before& before : control.befores) {
    *frame.values[before.to] = turns > 0 ? kept.at(0, before.number) : *frame.values[before.now];
  }
  for (size_t i = 0; i < flows.size(); ++i) {
    if (control.flows[i].to >= 0) *frame.values[control.flows[i].to] = std::move(flows[i]);
  }
  for (size_t i = 0; i < sums.size(); ++i) {
    *frame.values[control.gathers[i].to] = std::move(sums[i]);
    orders[i].Leave(frame.values);
  }
  if (!found) return;
  for (const PlanControl::KeptGradient& each : control.kept_gradients) {
    if (each.last >= 0)
      *frame.values[each.last] = turns > 0 ? found->Take(turns - 1, each.number) : Value();
  }
  for (const PlanControl::KeptGradient& each : control.kept_gradients) {
    if (turns > 0 || each.first < 0 || frame.values[each.first]->empty()) continue;
    // Without turns what was there before the loop is what is there behind it.
    auto left = std::find_if(
        control.kept_gradients.begin(), control.kept_gradients.end(), [&](const auto& other) {
          return other.last >= 0 && (&other == &each || other.number == each.made_as);
        });
    ENFORCE(left != control.kept_gradients.end(), Unimplemented, "the second-order gradient of '",
            plan_.slots[each.first].name, "' needs at least one iteration of the loop, got none",
            PositionText(*op.desc, op.position, op.block));
    *frame.values[left->last] = *frame.values[each.first];
  }
  *frame.values[control.kept_to] = Value(VarKind::kSteps, Ref<KeptSteps>(found));
}

// Of an operator whose inputs are gradients that need not be there: those of lists that are;
// nothing where a required one is missing.
void PreparedProgram::RunPresent(const PlanOp& op, Frame& frame, Bound& bound,
                                 RandomStreams random) const {
  Bound present;
  present.names.op = &op;
  present.staging = bound.staging;
  uint32_t k = 0;
  for (size_t slot = 0; slot < op.in_ends.size(); ++slot) {
    const SlotInfo& info = op.info->inputs[slot];
    const bool listed = op.in_ends[slot] > k,
               places = info.dispensable() && op.in_ends[slot] > k + 1;
    bool any = false;
    for (; k < op.in_ends[slot]; ++k) {
      const Value* value = bound.in[k];
      const bool given = value && !value->empty();
      any |= given;
      if (!given && !places) continue;
      present.in.push_back(given ? value : nullptr);
      present.call.in.Push(present.in.back());
    }
    if (listed && !any && !info.dispensable()) return;
    present.call.in.Close();
  }
  Call& call = present.call;
  const Call& whole = bound.call;
  call.op = whole.op;
  call.attrs = whole.attrs;
  call.place = whole.place;
  call.out = whole.out;
  PlanOp plain;
  plain.info = op.info;
  plain.desc = op.desc;
  plain.position = op.position;
  plain.block = op.block;
  plain.random = op.random;
  plain.out = op.out;
  plain.staged = op.staged;
  RunOne(plain, frame, present, random);
}

void PreparedProgram::RunBlock(const PlanOp& op, Frame& frame, Bound& bound,
                               RandomStreams random) const {
  try {
    switch (op.control->kind) {
      case Control::kWhile: return RunWhile(op, frame, bound, random);
      case Control::kCondition: return RunCondition(op, frame, bound, random);
      case Control::kRecurrent: return RunRecurrent(op, frame, bound, random);
      case Control::kWhileGrad:
      case Control::kConditionGrad:
      case Control::kRecurrentGrad:
      case Control::kSecondGrad: return RunGradient(op, frame, bound, random);
      default: break;
    }
  } catch (Error& e) {
    e.AddOperator(op.desc->type);
    throw;
  }
}

}  // namespace program
}  // namespace dygraph

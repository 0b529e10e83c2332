// Blocks of a prepared program: operators that run one are bound to it, and passes arrange each
// block by itself.
#include <algorithm>
#include <set>

#include "execute/frame.h"
#include "execute/plan_passes.h"
#include "program/block_gradient.h"
#include "program/op_binding.h"

namespace dygraph::program {

namespace {

using Names = std::vector<std::string>;

Names NamesOf(const std::vector<std::string>* names) { return names ? *names : Names(); }

// What the operators of a body use of the blocks around it, in order.
void CollectUses(const PlanControl& control, const Plan& plan, int body, PlanOp* op) {
  std::set<int> in(control.conditions.begin(), control.conditions.end()), out;
  for (const PlanOp& each : control.body.ops) {
    for (int s : each.in) {
      if (s >= 0 && plan.slots[s].block != body) in.insert(s);
    }
    for (int s : each.out) {
      if (s >= 0 && plan.slots[s].block != body) out.insert(s);
    }
  }
  for (const auto* pairs : {&control.sliced, &control.initial}) {
    for (auto [outside, inside] : *pairs) in.insert(outside);
  }
  for (auto [outside, inside] : control.stacked) out.insert(outside);
  in.insert(control.stacked_like.begin(), control.stacked_like.end());
  for (const PlanControl::Flow& flow : control.flows) {
    in.insert(flow.from);
    out.insert(flow.to);
  }
  for (const PlanControl::Gather& gather : control.gathers) {
    in.insert(gather.before);
    out.insert(gather.to);
  }
  for (const PlanControl::Before& before : control.befores) {
    in.insert(before.now);
    out.insert(before.to);
  }
  if (control.steps >= 0) (control.is_gradient() ? in : out).insert(control.steps);
  for (const PlanControl::KeptGradient& kept : control.kept_gradients) {
    in.insert(kept.first);
    out.insert(kept.last);
  }
  in.insert(control.kept_from);
  out.insert({control.own_steps, control.kept_to});
  // A block that does not run leaves what was there before.
  out.erase(-1);
  in.insert(out.begin(), out.end());
  in.erase(-1);
  for (int s : in) op->in.push_back(s);
  for (int s : out) op->out.push_back(s);
  op->in_ends.resize(op->info->inputs.size(), static_cast<uint32_t>(in.size()));
  op->out_ends.resize(op->info->outputs.size(), static_cast<uint32_t>(out.size()));
}

}  // namespace

int PreparedProgram::Required(const PlanOp& op, const std::string& name, int block) {
  const int slot = SlotOf(name, block);
  ENFORCE(slot >= 0, Format, op.desc->type, ": a variable it lists must have a name, got '", name,
          "'", PositionText(*op.desc, op.position, op.block));
  return slot;
}

void PreparedProgram::BindControl(PlanOp* op) {
  has_blocks_ = true;
  const OpDesc& desc = *op->desc;
  const int block = op->block;
  const auto* sub_block = desc.FindAttr<BlockIndex>("sub_block");
  ENFORCE(sub_block, Format, desc.type,
          ": the attribute sub_block must name a block of the program",
          PositionText(desc, op->position, block));
  const int body = sub_block->index;
  ENFORCE(program_->blocks[body].parent_idx == block, Format, desc.type, ": block ", body,
          " must lie in the block of its operator, ", block, ", got one in block ",
          program_->blocks[body].parent_idx, PositionText(desc, op->position, block));
  op->control = std::make_shared<PlanControl>();
  PlanControl& control = *op->control;
  control.kind = op->info->control;
  auto pairs = [&](const Names& outside, const Names& inside, const char* what) {
    ENFORCE(outside.size() == inside.size(), Format, desc.type, ": there must be as many ", what,
            " outside the block as inside, got ", outside.size(), " and ", inside.size(),
            PositionText(desc, op->position, block));
    PlanControl::Pairs result;
    for (size_t i = 0; i < outside.size(); ++i)
      result.emplace_back(Required(*op, outside[i], block), Required(*op, inside[i], body));
    return result;
  };
  auto strings = [&](const char* name) { return NamesOf(desc.FindAttr<Names>(name)); };
  controls_[body] = &control;
  switch (control.kind) {
    case Control::kWhile:
      control.conditions.push_back(Required(*op, NamesOf(desc.Input("Condition")).at(0), block));
      break;
    case Control::kCondition: {
      const bool* scalar = desc.FindAttr<bool>("is_scalar_condition");
      control.scalar = scalar && *scalar;
      for (const std::string& name : NamesOf(desc.Input("Cond")))
        control.conditions.push_back(Required(*op, name, block));
      ENFORCE(!control.scalar || control.conditions.size() == 1, Format, desc.type,
              ": a scalar condition must be one variable, got ", control.conditions.size(),
              PositionText(desc, op->position, block));
      break;
    }
    case Control::kRecurrent: {
      const Names &inputs = NamesOf(desc.Input("inputs")),
                  &outputs = NamesOf(desc.Output("outputs"));
      control.sliced = pairs(inputs, inputs, "inputs");
      control.initial =
          pairs(NamesOf(desc.Input("initial_states")), strings("ex_states"), "states");
      const Names before = strings("ex_states"), after = strings("states");
      ENFORCE(before.size() == after.size(), Format, desc.type,
              ": ex_states and states must be as many, got ", before.size(), " and ", after.size(),
              PositionText(desc, op->position, block));
      for (size_t i = 0; i < before.size(); ++i)
        control.handed.emplace_back(Required(*op, after[i], body), Required(*op, before[i], body));
      control.stacked = pairs(outputs, outputs, "outputs");
      const bool* reverse = desc.FindAttr<bool>("reverse");
      control.reverse = reverse && *reverse;
      ENFORCE(!control.sliced.empty(), Format, desc.type,
              ": it must have an input to split into steps, got none",
              PositionText(desc, op->position, block));
      break;
    }
    case Control::kWhileGrad:
    case Control::kConditionGrad:
    case Control::kRecurrentGrad:
    case Control::kSecondGrad: BindGradient(*op, body); break;
    default: THROW(Unimplemented, desc.type, " must be an operator whose block can be run");
  }
  for (const char* slot : {"StepScopes", "Scope", "step_scopes"}) {
    const auto* names = control.is_gradient() ? desc.Input(slot) : desc.Output(slot);
    const bool own = control.kind != Control::kSecondGrad;  // that one names them to be read
    if (own && names && !names->empty()) control.steps = SlotOf(names->front(), block);
  }
  control.body.ops = BindBlock(body);
  CollectUses(control, plan_, body, op);
}

// The gradients that go in and out of the block, and those of what the turns kept.
void PreparedProgram::BindGradient(const PlanOp& op, int body) {
  const OpDesc& desc = *op.desc;
  const int block = op.block;
  const int forward = program_->blocks[body].forward_block_idx.value_or(-1);
  const std::string where = PositionText(desc, op.position, block);
  ENFORCE(forward >= 0, Format, desc.type, ": block ", body,
          " must say which block it is the gradient of", where);
  PlanControl& control = *op.control;
  GradientOf& of =
      gradients_.emplace(body, GradientOf{forward, UsesAround(*program_, forward), &control, {}})
          .first->second;
  const BlockGradient lists = ReadBlockGradient(
      desc, of.uses, [&](const std::string& name) { return IsArray(name, block); }, where);
  const bool* reverse = desc.FindAttr<bool>("reverse");
  control.reverse = reverse && *reverse;
  for (const std::string& name : lists.arrays) control.arrays.push_back(SlotOf(name, block));
  for (const BlockGradient::Flow& flow : lists.flows) {
    control.flows.push_back({SlotOf(flow.from, block), SlotOf(flow.in, body),
                             SlotOf(flow.out, body), SlotOf(flow.to, block)});
  }
  auto slots_of = [&](const Names& names) {
    std::vector<int> slots;
    for (const std::string& name : names) slots.push_back(Required(op, name, body));
    return slots;
  };
  for (const BlockGradient::Gather& gather : lists.gathers) {
    control.gathers.push_back(
        {SlotOf(gather.before, block), slots_of(gather.terms), SlotOf(gather.to, block)});
  }
  for (const BlockGradient::Steps& steps : lists.sliced)
    control.sliced.emplace_back(Required(op, steps.outside, block),
                                Required(op, steps.inside, body));
  for (const BlockGradient::Steps& steps : lists.stacked) {
    control.stacked.emplace_back(SlotOf(steps.outside, block), SlotOf(steps.inside, body));
    control.stacked_like.push_back(Required(op, steps.like, block));
  }
  const Names restored = NamesOf(desc.Output("Restored")),
              variables = NamesOf(desc.FindAttr<Names>("restored"));
  ENFORCE(restored.size() == variables.size(), Format, desc.type,
          ": restored must name a variable for each of the ", restored.size(), " in Restored, got ",
          variables.size(), where);
  for (size_t i = 0; i < variables.size(); ++i)
    control.befores.push_back(
        {Required(op, variables[i], block), -1, Required(op, restored[i], block)});
  for (const char* slot : {"GradSteps", "StepScopes@GRAD", "Scope@GRAD", "step_scopes@GRAD"}) {
    const bool own = std::string(slot) == "GradSteps";
    const Names from = NamesOf(desc.Input(slot)), to = NamesOf(desc.Output(slot));
    if (!from.empty()) (own ? control.steps : control.kept_from) = SlotOf(from[0], block);
    if (!to.empty()) (own ? control.own_steps : control.kept_to) = SlotOf(to[0], block);
  }
  for (const BlockGradient::Kept& kept : lists.kept) {
    of.kept.push_back(kept.name);
    const bool adds = control.kind == Control::kSecondGrad;
    control.kept_gradients.push_back({-1, adds ? -1 : SlotOf(kept.name + kKeptGrad, body),
                                      slots_of(kept.terms), kept.made_as, SlotOf(kept.first, block),
                                      SlotOf(kept.last, block)});
  }
}

bool PreparedProgram::IsArray(const std::string& name, int block) const {
  for (int32_t visible : program_->VisibleBlocks(block)) {
    if (const VarDesc* var = program_->blocks[visible].FindVar(name))
      return var->type.type == VarType::Type::LOD_TENSOR_ARRAY;
  }
  return false;
}

// A block that is differentiated keeps what the gradient's block reads: variables of its own as a
// turn leaves them, others as they were when the turn began, if it read them then.
void PreparedProgram::LinkKept() {
  auto number_in = [](std::vector<int>* slots, int slot) {
    auto at = std::find(slots->begin(), slots->end(), slot);
    if (at == slots->end()) at = slots->insert(at, slot);
    return static_cast<int>(at - slots->begin());
  };
  struct Kept {
    int number;
    bool after;
  };
  // Where the block that is differentiated keeps a variable that its gradient calls `name`.
  auto keep = [&](int body, const std::string& name) {
    const GradientOf& of = gradients_.at(body);
    PlanControl& keeps = *controls_.at(of.forward);
    const auto& ops = program_->blocks[body].ops;
    const bool changed = std::any_of(ops.begin(), ops.end(), [&](const OpDesc& op) {
      return program::Writes(op, name);  // undone by the gradient's own operators
    });
    const bool after = names_[of.forward].declared.count(name) || changed ||
                       !of.uses.Writes(name) || !of.uses.read_first.count(name);
    const int slot = SlotOf(name, of.forward);
    return Kept{number_in(after ? &keeps.kept_after : &keeps.kept_before, slot), after};
  };
  struct Link {
    PlanControl *of, *forward;
    Kept kept;
    int slot;
  };
  std::vector<Link> links;
  struct GradientLink {
    PlanControl *of, *forward;
    Kept kept;
    size_t gradient;  // which of its kept_gradients
  };
  std::vector<GradientLink> gradients;
  // Inner gradients first: what they ask of a block may come from a block around it, and what a
  // gradient's gradient asks from the block that both differentiate.
  for (auto at = gradients_.rbegin(); at != gradients_.rend(); ++at) {
    const int body = at->first;
    GradientOf& of = at->second;
    auto forward = controls_.find(of.forward);
    ENFORCE(forward != controls_.end(), Format, "block ", body,
            " must be the gradient of a block that an operator runs, got block ", of.forward);
    const bool second = of.control->kind == Control::kSecondGrad;
    ENFORCE(second == (gradients_.count(of.forward) > 0), Format, "block ", body,
            " must be the gradient of ", second ? "a gradient's block" : "a block that is none",
            ", got block ", of.forward);
    for (const std::string& name : of.restored)
      links.push_back({of.control, forward->second, keep(body, name), SlotOf(name, body)});
    const int from = second ? of.forward : body;  // the gradient of first order
    for (size_t i = 0; i < of.kept.size(); ++i) {
      const int first = gradients_.at(from).forward;
      auto control = controls_.find(first);
      ENFORCE(control != controls_.end(), Format, "block ", from,
              " must be the gradient of a block that an operator runs, got block ", first);
      gradients.push_back({of.control, control->second, keep(from, of.kept[i]), i});
    }
  }
  std::map<PlanControl*, int> readers;
  for (auto& [body, of] : gradients_) ++readers[controls_[of.forward]];
  for (auto& [body, of] : gradients_) of.control->forward = controls_[of.forward];
  for (auto& [block, control] : controls_) {  // without a reader no iteration is kept
    if (readers.count(control) > 0) continue;
    (control->is_gradient() ? control->own_steps : control->steps) = -1;
  }
  for (auto& [body, of] : gradients_)
    of.control->only_reader = readers[controls_[of.forward]] == 1 && of.control->befores.empty();
  for (auto& [body, of] : gradients_) {  // known by the slot that the forward block changes
    for (PlanControl::Before& before : of.control->befores)
      before.number = number_in(&controls_[of.forward]->kept_before, before.now);
  }
  auto number_of = [](const PlanControl& forward, Kept kept) {
    return kept.number + static_cast<int>(kept.after ? forward.kept_before.size() : 0);
  };
  for (const Link& link : links)
    link.of->restored.emplace_back(number_of(*link.forward, link.kept), link.slot);
  for (const GradientLink& link : gradients)
    link.of->kept_gradients[link.gradient].number = number_of(*link.forward, link.kept);
  for (auto& [block, control] : controls_)
    control->keeping.assign(control->kept_before.size() + control->kept_after.size(),
                            PlanControl::Keeping::kSizes);
  for (const Link& link : links) {
    ForEachOp(link.of->body.ops, [&](const PlanOp& op) {
      if (op.Reads(link.slot) && !ReadsSizesAlone(op, link.slot))
        link.forward->keeping[number_of(*link.forward, link.kept)] = PlanControl::Keeping::kCopy;
    });
  }
  for (auto& [body, of] : gradients_) {
    for (const PlanControl::Before& before : of.control->befores)
      controls_[of.forward]->keeping[before.number] = PlanControl::Keeping::kCopy;
  }
  for (auto& [body, of] : gradients_) {
    for (PlanControl::KeptGradient& kept : of.control->kept_gradients) {
      if (kept.made_as >= 0) kept.made_as = of.control->kept_gradients.at(kept.made_as).number;
    }
  }
}

namespace {

// Locals that a loop or a choice keeps when a run of its block ends are moved: nothing reads them
// after it.
void MoveKept(PlanControl* control) {
  if (control->kind != Control::kWhile && control->kind != Control::kCondition) return;
  auto* keeping = control->keeping.data() + control->kept_before.size();
  for (size_t i = 0; i < control->kept_after.size(); ++i) {
    const std::vector<int>& locals = control->body.locals;
    const bool local =
        std::find(locals.begin(), locals.end(), control->kept_after[i]) != locals.end();
    if (local && keeping[i] == PlanControl::Keeping::kCopy)
      keeping[i] = PlanControl::Keeping::kMove;
  }
}

// The passes arrange a block as if its values that others see were fetched.
void ArrangeBlock(PlanControl* control, std::vector<PlanSlot>* slots,
                  const std::set<int>& outside) {
  Plan inner;
  inner.inner = true;
  inner.slots.swap(*slots);
  inner.ops.swap(control->body.ops);
  std::set<int> used;
  ForEachOp(inner.ops, [&](const PlanOp& op) {
    used.insert(op.in.begin(), op.in.end());
    used.insert(op.out.begin(), op.out.end());
  });
  used.erase(-1);
  const int block = inner.ops.empty() ? -1 : inner.ops[0].block;
  std::set<int> kept;
  for (int s : used) {
    if (inner.slots[s].block != block && !inner.slots[s].persistable) kept.insert(s);
  }
  for (const auto* pairs : {&control->sliced, &control->initial, &control->stacked}) {
    for (auto [outer, inside] : *pairs) kept.insert(inside);
  }
  for (auto [state, before] : control->handed) kept.insert({state, before});
  kept.insert(control->kept_after.begin(), control->kept_after.end());
  kept.insert(control->kept_before.begin(), control->kept_before.end());
  for (const PlanControl::KeptGradient& gradient : control->kept_gradients)
    kept.insert(gradient.terms.begin(), gradient.terms.end());
  for (const PlanControl::Flow& flow : control->flows) kept.insert(flow.out);
  for (const PlanControl::Gather& gather : control->gathers)
    kept.insert(gather.terms.begin(), gather.terms.end());
  kept.erase(-1);
  inner.fetches.assign(kept.begin(), kept.end());
  inner.written_outside.assign(outside.begin(), outside.end());
  RunPlanPasses(inner);
  std::set<int> released;
  for (const PlanOp& op : inner.ops) released.insert(op.done.begin(), op.done.end());
  for (int s : used) {
    if (inner.slots[s].block == block && !inner.slots[s].persistable && !released.count(s))
      control->body.locals.push_back(s);
  }
  MoveKept(control);
  for (PlanOp& op : inner.ops) {
    if (!op.control) continue;
    std::set<int> around = outside;
    for (const PlanOp& each : inner.ops) {
      if (&each != &op) around.insert(each.out.begin(), each.out.end());
    }
    around.erase(-1);
    ArrangeBlock(op.control.get(), &inner.slots, around);
  }
  inner.ops.swap(control->body.ops);
  inner.slots.swap(*slots);
}

}  // namespace

void PreparedProgram::ArrangeBlocks() {
  std::set<int> missing;  // gradients that may not be there
  if (halves_.operators > 0 && feeds_.size() > halves_.feeds + 1)
    missing.insert(feed_slots_.begin() + halves_.feeds, feed_slots_.end());
  ForEachOp(plan_.ops, [&](PlanOp& op) {
    if (op.control) {
      for (const PlanControl::Flow& flow : op.control->flows) missing.insert({flow.in, flow.to});
      missing.insert(op.control->arrays.begin(), op.control->arrays.end());
      if (op.control->is_gradient()) {
        for (auto [outside, inside] : op.control->sliced) missing.insert(inside);
        for (auto [outside, inside] : op.control->stacked) missing.insert(outside);
      }
      for (const PlanControl::Gather& gather : op.control->gathers) missing.insert(gather.to);
      for (const PlanControl::KeptGradient& kept : op.control->kept_gradients)
        missing.insert({kept.slot, kept.last});
      return;
    }
    if (op.info->type == "read_from_array" && op.Output("Rest") >= 0)
      missing.insert(op.Output("Out"));
    for (int s : op.in) op.lenient |= s >= 0 && missing.count(s);
    if (op.lenient) missing.insert(op.out.begin(), op.out.end());
  });
  RunPlanPasses(plan_);
  for (PlanOp& op : plan_.ops) {
    if (!op.control) continue;
    std::set<int> outside;
    for (const PlanOp& each : plan_.ops) {
      if (&each != &op) outside.insert(each.out.begin(), each.out.end());
    }
    outside.erase(-1);
    ArrangeBlock(op.control.get(), &plan_.slots, outside);
  }
}

}  // namespace dygraph::program

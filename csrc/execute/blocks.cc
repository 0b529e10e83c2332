// Blocks of a prepared program: operators that run one are bound to it, and passes arrange each
// block by itself.
#include <set>

#include "execute/frame.h"
#include "execute/plan_passes.h"
#include "program/op_binding.h"

namespace dygraph::program {

namespace {

using Names = std::vector<std::string>;

const Names& NamesOf(const std::vector<std::string>* names) {
  static const Names none;
  return names ? *names : none;
}

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
  // A block that does not run leaves what was there before.
  in.insert(out.begin(), out.end());
  in.erase(-1);
  for (int s : in) op->in.push_back(s);
  for (int s : out) op->out.push_back(s);
  op->in_ends.resize(op->info->inputs.size(), static_cast<uint32_t>(in.size()));
  op->out_ends.resize(op->info->outputs.size(), static_cast<uint32_t>(out.size()));
}

}  // namespace

void PreparedProgram::BindControl(PlanOp* op) {
  has_blocks_ = true;
  const OpDesc& desc = *op->desc;
  const int block = op->block;
  const auto* sub_block = desc.FindAttr<BlockIndex>("sub_block");
  ENFORCE(sub_block, Format, desc.type, ": the attribute sub_block must name a block of the program",
          PositionText(desc, op->position, block));
  const int body = sub_block->index;
  op->control = std::make_shared<PlanControl>();
  PlanControl& control = *op->control;
  control.kind = op->info->control;
  auto pairs = [&](const Names& outside, const Names& inside, const char* what) {
    ENFORCE(outside.size() == inside.size(), Format, desc.type, ": there must be as many ", what,
            " outside the block as inside, got ", outside.size(), " and ", inside.size(),
            PositionText(desc, op->position, block));
    PlanControl::Pairs result;
    for (size_t i = 0; i < outside.size(); ++i)
      result.emplace_back(SlotOf(outside[i], block), SlotOf(inside[i], body));
    return result;
  };
  auto strings = [&](const char* name) { return NamesOf(desc.FindAttr<Names>(name)); };
  switch (control.kind) {
    case Control::kWhile:
      control.conditions.push_back(SlotOf(NamesOf(desc.Input("Condition")).at(0), block));
      break;
    case Control::kCondition: {
      const bool* scalar = desc.FindAttr<bool>("is_scalar_condition");
      control.scalar = scalar && *scalar;
      for (const std::string& name : NamesOf(desc.Input("Cond")))
        control.conditions.push_back(SlotOf(name, block));
      ENFORCE(!control.scalar || control.conditions.size() == 1, Format, desc.type,
              ": a scalar condition must be one variable, got ", control.conditions.size(),
              PositionText(desc, op->position, block));
      break;
    }
    case Control::kRecurrent: {
      const Names &inputs = NamesOf(desc.Input("inputs")), &outputs = NamesOf(desc.Output("outputs"));
      control.sliced = pairs(inputs, inputs, "inputs");
      control.initial = pairs(NamesOf(desc.Input("initial_states")), strings("ex_states"), "states");
      const Names before = strings("ex_states"), after = strings("states");
      ENFORCE(before.size() == after.size(), Format, desc.type,
              ": ex_states and states must be as many, got ", before.size(), " and ", after.size(),
              PositionText(desc, op->position, block));
      for (size_t i = 0; i < before.size(); ++i)
        control.handed.emplace_back(SlotOf(after[i], body), SlotOf(before[i], body));
      control.stacked = pairs(outputs, outputs, "outputs");
      const bool* reverse = desc.FindAttr<bool>("reverse");
      control.reverse = reverse && *reverse;
      ENFORCE(!control.sliced.empty(), Format, desc.type,
              ": it must have an input to split into steps, got none",
              PositionText(desc, op->position, block));
      break;
    }
    default: THROW(Unimplemented, desc.type, " cannot be run");
  }
  control.body.ops = BindBlock(body);
  CollectUses(control, plan_, body, op);
}

namespace {

// The passes arrange a block as if its values that others see were fetched.
void ArrangeBlock(PlanControl* control, std::vector<PlanSlot>* slots, const std::set<int>& outside) {
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
  inner.fetches.assign(kept.begin(), kept.end());
  inner.written_outside.assign(outside.begin(), outside.end());
  RunPlanPasses(inner);
  std::set<int> released;
  for (const PlanOp& op : inner.ops) released.insert(op.done.begin(), op.done.end());
  for (int s : used) {
    if (inner.slots[s].block == block && !inner.slots[s].persistable && !released.count(s))
      control->body.locals.push_back(s);
  }
  for (PlanOp& op : inner.ops) {
    if (!op.control) continue;
    std::set<int> around = outside;
    for (const PlanOp& each : inner.ops) {
      if (&each != &op) around.insert(each.out.begin(), each.out.end());
    }
    ArrangeBlock(op.control.get(), &inner.slots, around);
  }
  inner.ops.swap(control->body.ops);
  inner.slots.swap(*slots);
}

}  // namespace

void PreparedProgram::ArrangeBlocks() {
  if (!has_blocks_) return RunPlanPasses(plan_);
  std::set<int> in_blocks;  // what may be left unwritten, for its block may not run
  for (const PlanOp& op : plan_.ops) {
    if (op.control) in_blocks.insert(op.out.begin(), op.out.end());
  }
  ForEachOp(plan_.ops, [&](PlanOp& op) {
    const bool update = !op.info->in_place.empty() && op.info->outputs[0].name == "ParamOut";
    const int gradient = update ? op.Input("Grad") : -1;
    if (gradient >= 0 && in_blocks.count(gradient)) op.gradient = gradient;
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

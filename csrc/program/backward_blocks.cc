// The gradient of an operator that runs a block: an operator with a block of its own, which goes
// back over what the runs kept.
#include <algorithm>

#include "program/backward_pass.h"
#include "program/op_binding.h"

namespace dygraph::program {

namespace {

// Whether it runs the block of a gradient.
bool IsGradient(const OpDesc& op) {
  const OpInfo* info = FindOp(op.type);
  const Control control = info ? info->control : Control::kNone;
  return control == Control::kWhileGrad || control == Control::kConditionGrad ||
         control == Control::kRecurrentGrad || control == Control::kSecondGrad;
}

using Names = std::vector<std::string>;

Names StringsOf(const OpDesc& op, const char* attr, bool has) {
  const Names* names = has ? op.FindAttr<Names>(attr) : nullptr;
  return names ? *names : Names();
}

// The gradient of a state that comes from the step after.
std::string NextName(const std::string& state) { return GradName(state) + "@NEXT"; }

std::vector<std::string> Listed(const std::vector<std::string>* names) {
  return names ? *names : std::vector<std::string>();
}

}  // namespace

bool UsedByBlocks(const Block& body, const std::string& name) {
  return std::any_of(body.ops().begin(), body.ops().end(), [&](const OpRef& op) {
    const int32_t block = BlockOf(op->desc());
    return block >= 0 && UsesAround(*body.program(), block).Reads(name);
  });
}

void RenameReads(std::vector<GradientBlock::Made>* ops, const std::string& from,
                 const std::string& to) {
  for (GradientBlock::Made& made : *ops) {
    RenameArguments(&made.op.inputs, from, to);
    if (made.block) RenameReads(&made.block->ops, from, to);
  }
}

BodyResult BackwardPass::RunBody() {
  PlayAll();
  BodyResult result;
  for (const std::string& name : request_.targets) {
    if (IsArray(name)) continue;
    if (const std::string* whole = Complete(name)) result.carried[name] = *whole;
  }
  for (const std::string& name : body_->asked) {
    if (const std::string* whole = Complete(name)) result.carried[name] = *whole;
  }
  for (const auto* names : {&body_->uses.writes, &body_->uses.reads}) {
    for (const std::string& name : *names) {
      if (result.carried.count(name) || IsArray(name)) continue;
      for (const Term& term : pending_[name]) result.terms[name].push_back(term.name);
    }
  }
  result.ops = TakeSteps();
  result.arrays = std::move(arrays_);
  result.read = std::move(kept_);
  return result;
}

// Whether an operator of the block makes the variable of what wants a gradient.
bool BackwardPass::IsMadeOfWanting(const Block& body, const std::string& name) const {
  return std::any_of(body.ops().begin(), body.ops().end(), [&](const OpRef& op) {
    const OpDesc& desc = op->desc();
    const int32_t inner = BlockOf(desc);
    if (inner >= 0) {
      const Program& program = *body.program();
      return UsesAround(program, inner).Writes(name) &&
             IsMadeOfWanting(*program.blocks().at(inner), name);
    }
    if (!Writes(desc, name) || HasNoGradient(desc)) return false;
    bool wanting = false;
    ForNames(desc.inputs, [&](const std::string& input) {
      const Var* var = body.FindRecursive(input);
      wanting |= var && !var->stop_gradient() && !request_.stopped.count(input) &&
                 IsInexact(ElementType(var->desc()));
    });
    return wanting;
  });
}

// A variable that is filled with a constant before the block has stop_gradient set, and Python's
// loop would make another one: without this its gradient would be missing in silence.
void BackwardPass::CheckWrites(const Block& body, const Names& writes) const {
  for (const std::string& name : writes) {
    const Var* var = request_.block.FindRecursive(name);
    if (!var || !var->stop_gradient() || request_.stopped.count(name) || !reached_.count(name) ||
        var->desc().persistable.value_or(false) || !IsInexact(ElementType(var->desc())))
      continue;
    ENFORCE(!IsMadeOfWanting(body, name), PreconditionNotMet, "stop_gradient of '", name,
            "' must be False, since the block writes it from what wants a gradient, got True. Set "
            "it to False before the block, or give '",
            name, "' in no_grad_set if it is to have none");
  }
}

// Of arrays that a block uses, the arrays with their gradients; `flowing`: those that have any.
std::map<std::string, std::string> BackwardPass::ArraysOf(const OuterUses& uses,
                                                          std::set<std::string>* flowing) {
  std::map<std::string, std::string> arrays;
  for (const auto* names : {&uses.reads, &uses.writes}) {
    for (const std::string& name : *names) {
      if (!IsArray(name) || !Wants(name) || arrays.count(name)) continue;
      const std::string* whole = Complete(name);
      if (whole) flowing->insert(name);
      const bool around = body_ && body_->arrays.count(name);
      arrays[name] = whole ? *whole : around ? body_->arrays.at(name) : Free(GradName(name));
    }
  }
  return arrays;
}

// The gradients in a slot of an operator that was appended, as terms of what they are gradients of.
void BackwardPass::NoteTerms(OpDesc& op, const std::string& slot, const Names& of) {
  for (size_t s = 0; s < op.outputs.size(); ++s) {
    if (op.outputs[s].parameter != slot) continue;
    for (size_t i = 0; i < op.outputs[s].arguments.size(); ++i) {
      const std::string& name = op.outputs[s].arguments[i];
      if (name == kEmptyName) continue;
      std::vector<Term>& pending = pending_[of.at(i)];
      if (!IsArray(of[i])) {
        pending.push_back({name, &op.outputs, s, i});
      } else if (pending.empty()) {
        order_.push_back(of[i]);
        pending.push_back({name, nullptr, 0, 0});
        if (body_ && body_->arrays.count(of[i])) arrays_.insert(of[i]);
      }
    }
  }
}

void BackwardPass::PlayBlock(const OpDesc& desc, int number) {
  if (IsGradient(desc)) return PlayGradientBlock(desc, number);
  const int32_t index = BlockOf(desc);
  const Program& program = *request_.block.program();
  const OuterUses uses = UsesAround(program, index);
  // Steps write the outputs of recurrent under names of their own, which are the same.
  const bool steps = desc.type == "recurrent";
  const std::vector<std::string> writes = steps ? Listed(desc.Output("outputs")) : uses.writes;
  if (led_[number]) CheckWrites(*program.blocks().at(index), writes);
  std::map<std::string, std::string> arriving;
  for (const std::string& name : writes) {
    const std::string* whole = Wants(name) ? Complete(name) : nullptr;
    if (whole) arriving[name] = *whole;
  }
  // Of second order: gradients of what the turns kept.
  const ListNames lists = ListsOfBlock(desc);
  const Names kept_steps = Listed(desc.Output(lists.steps));
  std::string of_kept;
  if (!kept_steps.empty()) {
    if (const std::string* whole = Complete(kept_steps[0])) of_kept = *whole;
    pending_.erase(kept_steps[0]);
  }
  if (arriving.empty() && of_kept.empty()) {
    for (const std::string& name : writes) pending_.erase(name);
    return;
  }
  const Block& body = *program.blocks().at(index);

  // A gradient that one turn makes arrives at the turn before it: what flows is found by repeating.
  std::set<std::string> flowing;
  const std::map<std::string, std::string> arrays = ArraysOf(uses, &flowing);
  const std::vector<std::string> inputs = steps ? Listed(desc.Input("inputs")) : Names(),
                                 old_states = StringsOf(desc, "ex_states", steps),
                                 new_states = StringsOf(desc, "states", steps);
  std::set<std::string> handed;  // of old_states, those with a gradient
  std::vector<std::string> asked = inputs;
  asked.insert(asked.end(), old_states.begin(), old_states.end());
  for (const auto& [name, gradient] : arriving) {
    if (!steps) flowing.insert(name);
  }
  FoundFlows& found = body_ ? *body_->found : own_flows_;
  Flows& known = found[index];
  for (const std::string& name : known.flowing) {
    if (!IsArray(name) || arrays.count(name)) flowing.insert(name);
  }
  handed.insert(known.handed.begin(), known.handed.end());
  const Names kept = of_kept.empty() ? Names() : known.kept;
  Names begun;  // of these, what a turn has before it writes them
  for (const std::string& name : kept) {
    if (!body.Find(name) && uses.Writes(name) && uses.read_first.count(name)) begun.push_back(name);
  }
  BodyResult result;
  for (size_t before = SIZE_MAX; before != flowing.size() + handed.size();) {
    before = flowing.size() + handed.size();
    BackwardRequest request{body, body.ops().size(), {}, {}, request_.stopped, {}, {}, false};
    for (const std::string& name : kept) {
      if (std::count(begun.begin(), begun.end(), name)) continue;
      request.targets.push_back(name);
      request.target_grads.push_back(name + kKeptGrad);
    }
    for (const std::string& name : flowing) {
      request.targets.push_back(name);
      request.target_grads.push_back(arrays.count(name) ? arrays.at(name) : GradName(name));
    }
    for (const auto& [name, gradient] : arriving) {
      if (!steps) break;
      request.targets.push_back(name);
      request.target_grads.push_back(GradName(name));
    }
    for (size_t i = 0; i < old_states.size(); ++i) {
      if (!handed.count(old_states[i])) continue;
      request.targets.push_back(new_states.at(i));
      request.target_grads.push_back(NextName(new_states[i]));
    }
    const BodyRequest around{uses, arrays, asked, begun, &found};
    result = BackwardPass(request, &around).RunBody();
    for (const auto& [name, terms] : result.terms) {
      if (uses.Writes(name) || UsedByBlocks(body, name)) flowing.insert(name);
    }
    flowing.insert(result.arrays.begin(), result.arrays.end());
    for (const std::string& name : old_states) {
      if (result.carried.count(name)) handed.insert(name);
    }
  }
  known.flowing = flowing;
  known.handed = handed;
  for (const std::string& name : result.read) {
    const std::string kept = Keep(name, number, true);
    if (kept != name) RenameReads(&result.ops, name, kept);
  }

  OpDesc made;
  made.type = desc.type + "_grad";
  std::vector<std::string> reads = Listed(desc.Input(lists.reads));
  for (const std::string& name : flowing) {
    if (std::find(reads.begin(), reads.end(), name) == reads.end()) reads.push_back(name);
  }
  for (const auto& [name, terms] : result.terms) {
    if (std::find(reads.begin(), reads.end(), name) == reads.end()) reads.push_back(name);
  }
  auto block = std::make_shared<GradientBlock>();
  block->forward_block = index;
  std::vector<std::string> outs, inner_outs, grads(reads.size(), kEmptyName), before(grads), terms;
  std::vector<int32_t> counts(reads.size());
  for (const std::string& name : writes) {
    auto at = arriving.find(name);
    if (at == arriving.end()) continue;
    if (steps) {
      block->given.emplace_back(GradName(name), name);
      pending_.erase(name);
    }
    outs.push_back(at->second);
    inner_outs.push_back(arrays.count(name) ? at->second : GradName(name));
  }
  for (const std::string& name : kept) block->given.emplace_back(name + kKeptGrad, name);
  bool any_before = false;
  for (size_t i = 0; i < reads.size(); ++i) {
    const std::string& name = reads[i];
    if (std::find(reads.begin(), reads.begin() + i, name) != reads.begin() + i) continue;
    if (arrays.count(name)) {
      if (!flowing.count(name)) continue;
      grads[i] = arrays.at(name);
      block->outside.insert(grads[i]);
      continue;
    }
    if (flowing.count(name)) {
      block->given.emplace_back(GradName(name), name);
      if (!uses.Writes(name)) {
        const std::string* whole = Complete(name);
        outs.push_back(whole ? *whole : kEmptyName);
        inner_outs.push_back(GradName(name));
      }
      auto at = result.carried.find(name);
      if (at != result.carried.end()) terms.push_back(at->second), counts[i] = 1;
      pending_.erase(name);
      grads[i] = TermName(name);
      continue;
    }
    auto at = result.terms.find(name);
    if (at == result.terms.end() || at->second.empty()) continue;
    if (const std::string* whole = Complete(name)) before[i] = *whole, any_before = true;
    pending_.erase(name);
    grads[i] = TermName(name);
    terms.insert(terms.end(), at->second.begin(), at->second.end());
    counts[i] = static_cast<int32_t>(at->second.size());
  }
  for (const char* slot : {"Cond", "inputs", "initial_states"}) {
    if (const auto* names = desc.Input(slot)) made.inputs.push_back({slot, *names, {}});
  }
  made.inputs.push_back({lists.writes, Listed(desc.Output(lists.writes)), {}});
  made.inputs.push_back({std::string(lists.writes) + "@GRAD", std::move(outs), {}});
  made.inputs.push_back({lists.steps, kept_steps, {}});
  made.inputs.push_back({lists.reads, reads, {}});
  if (!of_kept.empty()) made.inputs.push_back({GradName(lists.steps), {of_kept}, {}});
  if (any_before) made.inputs.push_back({"Before", std::move(before), {}});
  made.outputs.push_back({std::string(lists.reads) + "@GRAD", grads, {}});
  made.attrs = desc.attrs;
  made.SetAttr("original_output_grad", std::move(inner_outs));
  made.SetAttr("restored", std::vector<std::string>());
  made.SetAttr("term_names", std::move(terms));
  made.SetAttr("term_counts", std::move(counts));
  if (!kept.empty()) made.SetAttr("kept", kept);
  ENFORCE(!kept_steps.empty(), PreconditionNotMet,
          "its gradient needs what the iterations keep, but Output(", lists.steps,
          ") is not given, as where is_test is set");
  if (steps) {
    auto list = [&](const char* slot, const std::vector<std::string>& inner, const char* attr) {
      const std::vector<std::string> outside = Listed(made.Input(slot));
      std::vector<std::string> names, grads;
      for (size_t i = 0; i < inner.size(); ++i) {
        auto at = result.carried.find(inner[i]);
        const bool wanted = at != result.carried.end() && Wants(outside.at(i));
        grads.push_back(at == result.carried.end() ? "" : at->second);
        names.push_back(wanted ? TermName(outside[i]) : kEmptyName);
      }
      made.outputs.push_back({std::string(slot) + "@GRAD", std::move(names), {}});
      made.SetAttr(attr, std::move(grads));
    };
    list("inputs", inputs, "input_grads");
    list("initial_states", old_states, "state_grads");
    for (size_t i = 0; i < new_states.size(); ++i)
      block->given.emplace_back(NextName(new_states[i]), new_states[i]);
  }
  block_steps_[number] = steps_.size();
  OpDesc& op = Append(std::move(made), number);
  NoteTerms(op, GradName(lists.reads), reads);
  for (const char* slot : {"inputs", "initial_states"}) {
    if (steps) NoteTerms(op, GradName(slot), Listed(op.Input(slot)));
  }
  block->ops = std::move(result.ops);
  block->NoteCounters();
  steps_.back().block = std::move(block);
}

}  // namespace dygraph::program

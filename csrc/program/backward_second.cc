// Second order through blocks: the gradient of an operator that runs the block of a gradient. Its
// turns go the way of the forward turns, over what the turns back kept, and what they find of the
// values that the forward turns kept goes to the gradient of the forward operator.
#include <algorithm>

#include "program/backward_pass.h"
#include "program/op_binding.h"

namespace dygraph::program {

namespace {

using Names = std::vector<std::string>;

std::string NextName(const std::string& gradient) { return GradName(gradient) + "@NEXT"; }

Names Listed(const Names* names) { return names ? *names : Names(); }

bool Has(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool WritesOrRuns(const OpDesc& op, const Program& program, const std::string& name) {
  const int32_t block = BlockOf(op);
  return Writes(op, name) || (block >= 0 && UsesAround(program, block).Writes(name));
}

// The variable of the block that the last operator to write `name` passes on to it; else `name`.
std::string PassedOn(const Block& block, const std::string& name) {
  std::string value = name;
  for (const OpRef& op : block.ops()) {
    const OpDesc& desc = op->desc();
    if (!WritesOrRuns(desc, *block.program(), name)) continue;
    const auto* x = desc.Input("X");
    const bool passes = desc.type == "assign" || desc.type == "rnn_memory_helper";
    value = passes && x->size() == 1 && block.Find(x->front()) ? x->front() : name;
  }
  return value;
}

}  // namespace

// The whole gradient of a variable; empty where nothing flows.
std::string BackwardPass::Arriving(const std::string& name) {
  const std::string* whole = IsName(name) && Wants(name) ? Complete(name) : nullptr;
  return whole ? *whole : "";
}

// Second order: what a turn has of a variable before it writes it gets its own gradient, ahead of
// the terms of those that read it.
void BackwardPass::AddBegun(size_t number) {
  for (const std::string& name : body_->begun) {
    const std::vector<size_t>& writers = uses_.WritersOf(name);
    if (writers.empty() || writers.front() != number || !Wants(name)) continue;
    std::vector<Term>& terms = pending_[name];
    terms.insert(terms.begin(), {name + kKeptGrad, nullptr, 0, 0});
  }
}

// Whether the variable holds, where the pass is, what the operator of the block left in it.
bool BackwardPass::IsLeftBy(const Block& forward, const std::string& name) const {
  const Program& program = *forward.program();
  const Block& around = *program.blocks().at(forward.parent_idx());
  bool runs = false;
  for (const OpRef& op : around.ops()) {
    if (BlockOf(op->desc()) == forward.idx()) {
      runs = true;
    } else if (runs && WritesOrRuns(op->desc(), program, name)) {
      return false;
    }
  }
  if (!body_ || around.Find(name)) return runs;
  const OuterUses uses = UsesAround(program, around.idx());
  return runs && !(uses.Writes(name) && uses.read_first.count(name));
}

void BackwardPass::PlayGradientBlock(const OpDesc& desc, int number) {
  const Program& program = *request_.block.program();
  const int32_t index = BlockOf(desc);
  const Block& body = *program.blocks().at(index);
  const int32_t first = body.forward_idx().value_or(-1);
  ENFORCE(first >= 0, Format, "block ", index, " must say which block it is the gradient of");
  const Block& forward = *program.blocks().at(first);
  const OuterUses forward_uses = UsesAround(program, first), uses = UsesAround(program, index);
  const BlockGradient lists = ReadBlockGradient(
      desc, forward_uses, [&](const std::string& name) { return IsArray(name); }, "");

  // What arrives.
  std::set<std::string> flowing;
  std::map<std::string, std::string> arriving, restored;
  if (led_[number]) {
    for (const auto& flow : lists.flows) arriving[flow.to] = Arriving(flow.to);
    for (const auto& gather : lists.gathers) arriving[gather.to] = Arriving(gather.to);
    for (const auto& steps : lists.stacked) arriving[steps.outside] = Arriving(steps.outside);
    const Names variables = Listed(desc.FindAttr<Names>("restored")),
                values = Listed(desc.Output("Restored"));
    for (size_t i = 0; i < values.size() && i < variables.size(); ++i) {
      std::string whole = Arriving(values[i]);
      if (!whole.empty()) restored[variables[i]] = std::move(whole);
    }
  }
  const std::map<std::string, std::string> arrays =
      led_[number] ? ArraysOf(uses, &flowing) : std::map<std::string, std::string>();
  bool any = !flowing.empty() || !restored.empty();
  for (const auto& [name, gradient] : arriving) any |= !gradient.empty();
  ForNames(desc.outputs, [&](const std::string& name) {
    if (!IsArray(name)) pending_.erase(name);
  });
  if (!any) return;
  const ListNames names = ListsOfBlock(desc);
  const std::string steps = Listed(desc.Input(names.steps)).at(0);
  ENFORCE(desc.type != "block_grad_grad" && Listed(desc.Input(GradName(names.steps))).empty(),
          Unimplemented,
          "gradients through blocks end with second order, but the target asks for third order "
          "through a loop or choice. Compute it by eager calls with create_graph=True, write the "
          "turns one after the other, or give the second gradient in no_grad_set");

  // Which variables of the block stand for values that the forward turns kept.
  auto is_kept = [&](const std::string& name) {
    return forward.Find(name) || forward_uses.Writes(name);
  };
  Names asked;
  for (const auto& flow : lists.flows) {
    asked.push_back(flow.in);
    if (!arriving[flow.to].empty()) flowing.insert(flow.in);
  }
  for (const auto& sliced : lists.sliced) asked.push_back(sliced.inside);
  FoundFlows& found = body_ ? *body_->found : own_flows_;
  for (const std::string& name : found[index].flowing) {
    if (!IsArray(name) || arrays.count(name)) flowing.insert(name);
  }
  BodyResult result;
  for (size_t before = SIZE_MAX; before != flowing.size();) {
    before = flowing.size();
    BackwardRequest request{body, body.ops().size(), {}, {}, request_.stopped, {}, {}, false};
    auto target = [&](const std::string& name, const std::string& gradient) {
      if (!IsName(name) || gradient.empty()) return;
      request.targets.push_back(name);
      request.target_grads.push_back(gradient);
    };
    for (const auto& flow : lists.flows) {
      if (flowing.count(flow.in)) target(flow.out, NextName(flow.in));
    }
    for (const auto& gather : lists.gathers) {
      for (const std::string& term : gather.terms) target(term, arriving[gather.to]);
    }
    for (const auto& stacked : lists.stacked) {
      if (!arriving[stacked.outside].empty()) target(stacked.inside, NextName(stacked.inside));
    }
    for (const std::string& name : flowing) {
      if (arrays.count(name)) {
        target(name, arrays.at(name));
      } else if (!Has(asked, name)) {
        target(name, GradName(name));
      }
    }
    const BodyRequest around{uses, arrays, asked, {}, &found};
    result = BackwardPass(request, &around).RunBody();
    for (const auto& flow : lists.flows) {
      if (result.carried.count(flow.in)) flowing.insert(flow.in);
    }
    for (const auto& [name, terms] : result.terms) {
      if (!is_kept(name) && UsedByBlocks(body, name)) flowing.insert(name);
    }
    flowing.insert(result.arrays.begin(), result.arrays.end());
  }
  found[index].flowing = flowing;
  for (const std::string& name : result.read) {
    const std::string kept = is_kept(name) ? name : Keep(name, number, true);
    if (kept != name) RenameReads(&result.ops, name, kept);
  }

  OpDesc made;
  made.type = "block_grad_grad";
  auto block = std::make_shared<GradientBlock>();
  block->forward_block = index;
  Names reads, grads, before, named, terms, outs, inner_outs;
  std::vector<int32_t> counts;
  auto list = [&](const std::string& read, const std::string& in, const Names& of) {
    const bool gives = IsName(read) && Wants(read);
    reads.push_back(IsName(read) ? read : kEmptyName);
    named.push_back(in);
    before.push_back(kEmptyName);
    if (in.empty()) {
      if (const std::string* whole = Complete(read)) before.back() = *whole;
      pending_.erase(read);
    }
    grads.push_back(gives ? TermName(read) : kEmptyName);
    terms.insert(terms.end(), of.begin(), of.end());
    counts.push_back(static_cast<int32_t>(of.size()));
  };
  auto arrive = [&](const std::string& gradient, const std::string& inner) {
    outs.push_back(gradient.empty() ? kEmptyName : gradient);
    inner_outs.push_back(inner);
  };
  auto carried = [&](const std::string& name) {
    auto at = result.carried.find(name);
    return at == result.carried.end() ? Names() : Names{at->second};
  };
  for (const auto& flow : lists.flows) {
    if (!flowing.count(flow.in)) continue;
    block->given.emplace_back(NextName(flow.in), flow.in);
    arrive(arriving[flow.to], NextName(flow.in));
    list(flow.from, NextName(flow.in), carried(flow.in));
  }
  for (const auto& gather : lists.gathers) {
    const std::string& gradient = arriving[gather.to];
    if (gradient.empty()) continue;
    arrive(gradient, gradient);
    if (!IsName(gather.before) || !Wants(gather.before)) continue;
    if (pending_[gather.before].empty()) order_.push_back(gather.before);
    pending_[gather.before].push_back({gradient, nullptr, 0, 0});
  }
  Names around = uses.reads;
  for (const std::string& name : uses.writes) {
    if (!Has(around, name)) around.push_back(name);
  }
  for (const std::string& name : around) {
    if (is_kept(name) || Has(asked, name)) continue;
    auto at = result.terms.find(name);
    if (arrays.count(name)) {
      if (!flowing.count(name)) continue;
      block->outside.insert(arrays.at(name));
      reads.push_back(name);
      named.emplace_back();
      before.push_back(kEmptyName);
      grads.push_back(arrays.at(name));
      counts.push_back(0);
    } else if (flowing.count(name)) {
      block->given.emplace_back(GradName(name), name);
      const std::string* whole = Complete(name);
      arrive(whole ? *whole : "", GradName(name));
      pending_.erase(name);
      list(name, GradName(name), carried(name));
    } else if (at != result.terms.end() && !at->second.empty()) {
      list(name, "", at->second);
    }
  }

  // Values that the forward turns kept.
  Names kept, kept_terms, firsts, lasts, last_of;
  std::vector<int32_t> kept_counts, made_as;
  auto keep = [&](const std::string& name) {
    auto at = std::find(kept.begin(), kept.end(), name);
    if (at != kept.end()) return static_cast<int32_t>(at - kept.begin());
    auto found_terms = result.terms.find(name);
    const Names of = found_terms == result.terms.end() ? Names() : found_terms->second;
    auto value = restored.find(name);
    kept.push_back(name);
    kept_terms.insert(kept_terms.end(), of.begin(), of.end());
    kept_counts.push_back(static_cast<int32_t>(of.size()));
    firsts.push_back(value == restored.end() ? kEmptyName : value->second);
    made_as.push_back(-1);
    lasts.push_back(kEmptyName);
    last_of.emplace_back();
    return static_cast<int32_t>(kept.size() - 1);
  };
  for (const std::string& name : around) {
    auto at = result.terms.find(name);
    const bool has = at != result.terms.end() && !at->second.empty();
    if (is_kept(name) && (has || restored.count(name))) keep(name);
  }
  const Names old_states = Listed(desc.FindAttr<Names>("ex_states")),
              new_states = Listed(desc.FindAttr<Names>("states"));
  for (size_t i = 0; i < old_states.size() && i < new_states.size(); ++i) {
    if (Has(kept, old_states[i])) {
      const int32_t made = keep(PassedOn(forward, new_states[i]));
      made_as[keep(old_states[i])] = made;
    }
  }
  for (const std::string& name : forward_uses.writes) {
    const std::string value = PassedOn(forward, name);
    const bool begun = forward_uses.read_first.count(name) > 0;
    if (!Has(kept, value) || !Wants(name) || IsArray(name) || (value == name && begun)) continue;
    const int32_t of = keep(value);
    if (begun) made_as[keep(name)] = of;
    if (!IsLeftBy(forward, name) || !last_of[of].empty()) continue;
    last_of[of] = name;
    lasts[of] = TermName(name);
  }

  made.inputs = {{"X", reads, {}},
                 {"Out@GRAD", std::move(outs), {}},
                 {"StepScopes", {steps}, {}}};
  if (std::any_of(before.begin(), before.end(), IsName))
    made.inputs.push_back({"Before", std::move(before), {}});
  Flows& own = found[index];
  const Names own_steps = Listed(desc.Output("GradSteps"));
  if (own.own_steps.empty()) {
    own.own_steps = own_steps.empty() ? "grad_steps.tmp_" + std::to_string(index) : own_steps[0];
    if (own_steps.empty()) own.keeper = request_.block.ops()[number];
  }
  made.inputs.push_back({"GradSteps", {own.own_steps}, {}});
  made.outputs = {{"X@GRAD", std::move(grads), {}}};
  if (!kept.empty()) {
    const std::string* whole = Complete(steps);
    if (whole) {
      for (const std::string& name : kept) {
        const Var* var = request_.block.FindRecursive(name);
        ENFORCE(!var || var->desc().type.type != VarType::Type::STEP_SCOPES, Unimplemented,
                "one first gradient through a block that runs blocks may be differentiated, but "
                "the target depends on two. Give one of them in no_grad_set");
      }
      made.inputs.push_back({"StepScopes@GRAD", {*whole}, {}});
    }
    pending_.erase(steps);
    made.inputs.push_back({"Restored@GRAD", std::move(firsts), {}});
    made.outputs.push_back({"StepScopes@GRAD", {TermName(steps)}, {}});
    made.outputs.push_back({"Last@GRAD", lasts, {}});
    for (const std::string& name : kept) {
      if (!Has(found[first].kept, name)) found[first].kept.push_back(name);
    }
  }
  Names slices, of_slices, made_slices, wholes, into;
  for (const auto& sliced : lists.sliced) {
    const Names gradient = carried(sliced.inside);
    if (gradient.empty() || !Wants(sliced.outside)) continue;
    slices.push_back(sliced.outside);
    of_slices.push_back(TermName(sliced.outside));
    made_slices.push_back(gradient[0]);
  }
  for (const auto& stacked : lists.stacked) {
    if (arriving[stacked.outside].empty()) continue;
    block->given.emplace_back(NextName(stacked.inside), stacked.inside);
    wholes.push_back(arriving[stacked.outside]);
    into.push_back(NextName(stacked.inside));
  }
  if (!slices.empty()) {
    made.inputs.push_back({"Slices", slices, {}});
    made.outputs.push_back({"Slices@GRAD", std::move(of_slices), {}});
  }
  if (!wholes.empty()) made.inputs.push_back({"Stacked@GRAD", std::move(wholes), {}});
  const bool* reverse = desc.FindAttr<bool>("reverse");
  made.SetAttr("reverse", desc.type == "recurrent_grad" && !(reverse && *reverse));
  made.SetAttr("original_output_grad", std::move(inner_outs));
  made.SetAttr("term_names", std::move(terms));
  made.SetAttr("term_counts", std::move(counts));
  made.SetAttr("flow_names", std::move(named));
  made.SetAttr("slice_grads", std::move(made_slices));
  made.SetAttr("stacked_grads", std::move(into));
  made.SetAttr("kept", kept);
  made.SetAttr("kept_terms", std::move(kept_terms));
  made.SetAttr("kept_counts", std::move(kept_counts));
  made.SetAttr("kept_made_as", std::move(made_as));
  made.SetAttr("last", last_of);
  OpDesc& op = Append(std::move(made), number);
  NoteTerms(op, "X@GRAD", reads);
  NoteTerms(op, "Slices@GRAD", slices);
  NoteTerms(op, "Last@GRAD", last_of);
  if (!kept.empty()) NoteTerms(op, "StepScopes@GRAD", {steps});
  block->ops = std::move(result.ops);
  block->NoteCounters();
  steps_.back().block = std::move(block);
}

// Operators of an earlier backward pass whose turns second order goes over keep them from now on.
void BackwardPass::KeepOwnSteps() {
  for (auto& [index, flows] : own_flows_) {
    if (flows.keeper) result_.keepers.emplace_back(flows.keeper, flows.own_steps);
  }
}

}  // namespace dygraph::program

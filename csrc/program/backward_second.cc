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

// What is made for one gradient's block, piece by piece.
struct BackwardPass::Second {
  const OpDesc& desc;
  const Block &body, &forward;  // of the gradient, and the block that it is the gradient of
  const OuterUses forward_uses, uses;
  const BlockGradient lists;
  std::map<std::string, std::string> arriving = {}, restored = {}, arrays = {};
  std::set<std::string> flowing = {};  // gradients that go from turn to turn
  Names asked = {};
  BodyResult result = {};
  std::shared_ptr<GradientBlock> block = std::make_shared<GradientBlock>();
  OpDesc made = {};
  // What the lists of `made` are gradients of.
  Names reads = {}, slices = {}, last_of = {}, steps = {};

  // Whether a variable of the block stands for a value that the forward turns kept.
  bool IsKept(const std::string& name) const {
    return forward.Find(name) || forward_uses.Writes(name);
  }
  const std::string& ArrivingAt(const std::string& name) const { return arriving.at(name); }
  Names Carried(const std::string& name) const {
    auto at = result.carried.find(name);
    return at == result.carried.end() ? Names() : Names{at->second};
  }
  Names Terms(const std::string& name) const {
    auto at = result.terms.find(name);
    return at == result.terms.end() ? Names() : at->second;
  }
  // What the block uses of those around it.
  Names Around() const {
    Names around = uses.reads;
    for (const std::string& name : uses.writes) {
      if (!Has(around, name)) around.push_back(name);
    }
    return around;
  }
};

void BackwardPass::PlayGradientBlock(const OpDesc& desc, int number) {
  const Program& program = *request_.block.program();
  const int32_t index = BlockOf(desc);
  const Block& body = *program.blocks().at(index);
  const int32_t first = body.forward_idx().value_or(-1);
  ENFORCE(first >= 0, Format, "block ", index, " must say which block it is the gradient of");
  const OuterUses forward_uses = UsesAround(program, first);
  Second s{desc,
           body,
           *program.blocks().at(first),
           forward_uses,
           UsesAround(program, index),
           ReadBlockGradient(
               desc, forward_uses, [&](const std::string& name) { return IsArray(name); }, "")};
  const bool any = led_[number] && FindArriving(&s);
  ForNames(desc.outputs, [&](const std::string& name) {
    if (!IsArray(name)) pending_.erase(name);
  });
  if (!any) return;
  const ListNames names = ListsOfBlock(desc);
  s.steps = {Listed(desc.Input(names.steps)).at(0)};
  ENFORCE(desc.type != "block_grad_grad" && Listed(desc.Input(GradName(names.steps))).empty(),
          Unimplemented,
          "gradients through blocks end with second order, but the target asks for third order "
          "through a loop or choice. Compute it by eager calls with create_graph=True, write the "
          "iterations one after the other, or give the second gradient in no_grad_set");
  DifferentiateTurns(&s, number);

  FoundFlows& found = body_ ? *body_->found : own_flows_;
  Flows& own = found[index];
  const Names own_steps = Listed(desc.Output("GradSteps"));
  if (own.own_steps.empty()) {
    own.own_steps = own_steps.empty() ? "grad_steps.tmp_" + std::to_string(index) : own_steps[0];
    if (own_steps.empty()) own.keeper = request_.block.ops()[number];
  }
  s.block->forward_block = index;
  s.made.type = "block_grad_grad";
  s.made.inputs = {{"StepScopes", s.steps, {}}, {"GradSteps", {own.own_steps}, {}}};
  const bool* reverse = desc.FindAttr<bool>("reverse");
  s.made.SetAttr("reverse", desc.type == "recurrent_grad" && !(reverse && *reverse));
  ListReads(&s);
  const Names kept = ListKept(&s);
  for (const std::string& name : kept) {
    if (!Has(found[first].kept, name)) found[first].kept.push_back(name);
  }
  ListSlices(&s);
  OpDesc& op = Append(std::move(s.made), number);
  NoteTerms(op, "X@GRAD", s.reads);
  NoteTerms(op, "Slices@GRAD", s.slices);
  NoteTerms(op, "Last@GRAD", s.last_of);
  NoteTerms(op, "StepScopes@GRAD", s.steps);
  s.block->ops = std::move(s.result.ops);
  s.block->NoteCounters();
  steps_.back().block = std::move(s.block);
}

// The gradients that come to what the turns back gave; false: none.
bool BackwardPass::FindArriving(Second* s) {
  const BlockGradient& lists = s->lists;
  for (const auto& flow : lists.flows) s->arriving[flow.to] = Arriving(flow.to);
  for (const auto& gather : lists.gathers) s->arriving[gather.to] = Arriving(gather.to);
  for (const auto& steps : lists.stacked) s->arriving[steps.outside] = Arriving(steps.outside);
  const Names variables = Listed(s->desc.FindAttr<Names>("restored")),
              values = Listed(s->desc.Output("Restored"));
  for (size_t i = 0; i < values.size() && i < variables.size(); ++i) {
    std::string whole = Arriving(values[i]);
    if (!whole.empty()) s->restored[variables[i]] = std::move(whole);
  }
  s->arrays = ArraysOf(s->uses, &s->flowing);
  bool any = !s->flowing.empty() || !s->restored.empty();
  for (const auto& [name, gradient] : s->arriving) any |= !gradient.empty();
  return any;
}

// The turns back as a block of their own. What flows is found by repeating.
void BackwardPass::DifferentiateTurns(Second* s, int number) {
  for (const auto& flow : s->lists.flows) {
    s->asked.push_back(flow.in);
    if (!s->ArrivingAt(flow.to).empty()) s->flowing.insert(flow.in);
  }
  for (const auto& sliced : s->lists.sliced) s->asked.push_back(sliced.inside);
  FoundFlows& found = body_ ? *body_->found : own_flows_;
  std::set<std::string>& flowing = s->flowing;
  for (const std::string& name : found[s->body.idx()].flowing) {
    if (!IsArray(name) || s->arrays.count(name)) flowing.insert(name);
  }
  for (size_t before = SIZE_MAX; before != flowing.size();) {
    before = flowing.size();
    BackwardRequest request{s->body, s->body.ops().size(), {}, {}, request_.stopped, {}, {}, false};
    auto target = [&](const std::string& name, const std::string& gradient) {
      if (!IsName(name) || gradient.empty()) return;
      request.targets.push_back(name);
      request.target_grads.push_back(gradient);
    };
    for (const auto& flow : s->lists.flows) {
      if (flowing.count(flow.in)) target(flow.out, NextName(flow.in));
    }
    for (const auto& gather : s->lists.gathers) {
      for (const std::string& term : gather.terms) target(term, s->ArrivingAt(gather.to));
    }
    for (const auto& stacked : s->lists.stacked) {
      if (!s->ArrivingAt(stacked.outside).empty()) target(stacked.inside, NextName(stacked.inside));
    }
    for (const std::string& name : flowing) {
      if (s->arrays.count(name)) {
        target(name, s->arrays.at(name));
      } else if (!Has(s->asked, name)) {
        target(name, GradName(name));
      }
    }
    const BodyRequest around{s->uses, s->arrays, s->asked, {}, &found};
    s->result = BackwardPass(request, &around).RunBody();
    for (const auto& flow : s->lists.flows) {
      if (s->result.carried.count(flow.in)) flowing.insert(flow.in);
    }
    for (const auto& [name, terms] : s->result.terms) {
      if (!s->IsKept(name) && UsedByBlocks(s->body, name)) flowing.insert(name);
    }
    flowing.insert(s->result.arrays.begin(), s->result.arrays.end());
  }
  found[s->body.idx()].flowing = flowing;
  for (const std::string& name : s->result.read) {
    const std::string kept = s->IsKept(name) ? name : Keep(name, number, true);
    if (kept != name) RenameReads(&s->result.ops, name, kept);
  }
}

// Gradients that go from turn to turn, and those of what the turns back only read.
void BackwardPass::ListReads(Second* s) {
  Names grads, before, named, terms, outs, inner_outs;
  std::vector<int32_t> counts;
  auto list = [&](const std::string& read, const std::string& in, const std::string& first,
                  const Names& of) {
    s->reads.push_back(IsName(read) ? read : kEmptyName);
    named.push_back(in);
    before.push_back(first);
    grads.push_back(s->arrays.count(read)          ? s->arrays.at(read)
                    : IsName(read) && Wants(read) ? TermName(read)
                                                  : kEmptyName);
    terms.insert(terms.end(), of.begin(), of.end());
    counts.push_back(static_cast<int32_t>(of.size()));
  };
  auto arrive = [&](const std::string& gradient, const std::string& inner) {
    outs.push_back(gradient.empty() ? kEmptyName : gradient);
    inner_outs.push_back(inner);
  };
  for (const auto& flow : s->lists.flows) {
    if (!s->flowing.count(flow.in)) continue;
    s->block->given.emplace_back(NextName(flow.in), flow.in);
    arrive(s->ArrivingAt(flow.to), NextName(flow.in));
    list(flow.from, NextName(flow.in), kEmptyName, s->Carried(flow.in));
  }
  for (const auto& gather : s->lists.gathers) {
    const std::string& gradient = s->ArrivingAt(gather.to);
    if (gradient.empty()) continue;
    arrive(gradient, gradient);
    if (!IsName(gather.before) || !Wants(gather.before)) continue;
    if (pending_[gather.before].empty()) order_.push_back(gather.before);
    pending_[gather.before].push_back({gradient, nullptr, 0, 0});
  }
  for (const std::string& name : s->Around()) {
    if (s->IsKept(name) || Has(s->asked, name)) continue;
    const bool flows = s->flowing.count(name) > 0;
    if (s->arrays.count(name)) {
      if (!flows) continue;
      s->block->outside.insert(s->arrays.at(name));
      list(name, "", kEmptyName, {});
      continue;
    }
    const Names of = flows ? s->Carried(name) : s->Terms(name);
    if (!flows && of.empty()) continue;
    const std::string* found = Complete(name);
    const std::string whole = found ? *found : kEmptyName;
    pending_.erase(name);
    if (flows) {
      s->block->given.emplace_back(GradName(name), name);
      arrive(whole, GradName(name));
    }
    list(name, flows ? GradName(name) : "", flows ? kEmptyName : whole, of);
  }
  s->made.inputs.push_back({"X", s->reads, {}});
  s->made.inputs.push_back({"Out@GRAD", std::move(outs), {}});
  if (std::any_of(before.begin(), before.end(), IsName))
    s->made.inputs.push_back({"Before", std::move(before), {}});
  s->made.outputs.push_back({"X@GRAD", std::move(grads), {}});
  s->made.SetAttr("original_output_grad", std::move(inner_outs));
  s->made.SetAttr("term_names", std::move(terms));
  s->made.SetAttr("term_counts", std::move(counts));
  s->made.SetAttr("flow_names", std::move(named));
}

// Gradients of values that the forward turns kept; their names.
std::vector<std::string> BackwardPass::ListKept(Second* s) {
  Names kept, terms, firsts, lasts;
  std::vector<int32_t> counts, made_as;
  auto keep = [&](const std::string& name) {
    auto at = std::find(kept.begin(), kept.end(), name);
    if (at != kept.end()) return static_cast<int32_t>(at - kept.begin());
    const Names of = s->Terms(name);
    auto value = s->restored.find(name);
    kept.push_back(name);
    terms.insert(terms.end(), of.begin(), of.end());
    counts.push_back(static_cast<int32_t>(of.size()));
    firsts.push_back(value == s->restored.end() ? kEmptyName : value->second);
    made_as.push_back(-1);
    lasts.push_back(kEmptyName);
    s->last_of.emplace_back();
    return static_cast<int32_t>(kept.size() - 1);
  };
  for (const std::string& name : s->Around()) {
    const bool has = !s->Terms(name).empty() || s->restored.count(name);
    if (s->IsKept(name) && has) keep(name);
  }
  const Names old_states = Listed(s->desc.FindAttr<Names>("ex_states")),
              new_states = Listed(s->desc.FindAttr<Names>("states"));
  for (size_t i = 0; i < old_states.size() && i < new_states.size(); ++i) {
    if (!Has(kept, old_states[i])) continue;
    const int32_t made = keep(PassedOn(s->forward, new_states[i]));
    made_as[keep(old_states[i])] = made;
  }
  for (const std::string& name : s->forward_uses.writes) {
    const std::string value = PassedOn(s->forward, name);
    const bool begun = s->forward_uses.read_first.count(name) > 0;
    if (!Has(kept, value) || !Wants(name) || IsArray(name) || (value == name && begun)) continue;
    const int32_t of = keep(value);
    if (begun) made_as[keep(name)] = of;
    if (!IsLeftBy(s->forward, name) || !s->last_of[of].empty()) continue;
    s->last_of[of] = name;
    lasts[of] = TermName(name);
  }
  if (!kept.empty()) {
    const std::string steps = s->steps[0];
    if (const std::string* whole = Complete(steps)) {
      for (const std::string& name : kept) {
        const Var* var = request_.block.FindRecursive(name);
        ENFORCE(!var || var->desc().type.type != VarType::Type::STEP_SCOPES, Unimplemented,
                "one first gradient through a block that runs blocks may be differentiated, but "
                "the target depends on two. Give one of them in no_grad_set");
      }
      s->made.inputs.push_back({"StepScopes@GRAD", {*whole}, {}});
    }
    pending_.erase(steps);
    s->made.inputs.push_back({"Restored@GRAD", std::move(firsts), {}});
    s->made.outputs.push_back({"StepScopes@GRAD", {TermName(steps)}, {}});
    s->made.outputs.push_back({"Last@GRAD", std::move(lasts), {}});
  }
  s->made.SetAttr("kept", kept);
  s->made.SetAttr("kept_terms", std::move(terms));
  s->made.SetAttr("kept_counts", std::move(counts));
  s->made.SetAttr("kept_made_as", std::move(made_as));
  s->made.SetAttr("last", s->last_of);
  return kept;
}

// What the turns back took in slices, and what they put together.
void BackwardPass::ListSlices(Second* s) {
  Names of_slices, made_slices, wholes, into;
  for (const auto& sliced : s->lists.sliced) {
    const Names gradient = s->Carried(sliced.inside);
    if (gradient.empty() || !Wants(sliced.outside)) continue;
    s->slices.push_back(sliced.outside);
    of_slices.push_back(TermName(sliced.outside));
    made_slices.push_back(gradient[0]);
  }
  for (const auto& stacked : s->lists.stacked) {
    if (s->ArrivingAt(stacked.outside).empty()) continue;
    s->block->given.emplace_back(NextName(stacked.inside), stacked.inside);
    wholes.push_back(s->ArrivingAt(stacked.outside));
    into.push_back(NextName(stacked.inside));
  }
  if (!s->slices.empty()) {
    s->made.inputs.push_back({"Slices", s->slices, {}});
    s->made.outputs.push_back({"Slices@GRAD", std::move(of_slices), {}});
  }
  if (!wholes.empty()) s->made.inputs.push_back({"Stacked@GRAD", std::move(wholes), {}});
  s->made.SetAttr("slice_grads", std::move(made_slices));
  s->made.SetAttr("stacked_grads", std::move(into));
}

// Operators of an earlier backward pass whose turns second order goes over keep them from now on.
void BackwardPass::KeepOwnSteps() {
  for (auto& [index, flows] : own_flows_) {
    if (flows.keeper) result_.keepers.emplace_back(flows.keeper, flows.own_steps);
  }
}

}  // namespace dygraph::program

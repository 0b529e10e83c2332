#include "program/backward.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "op/zero_derivative.h"
#include "program/backward_pass.h"
#include "program/op_binding.h"
#include "program/open_attrs.h"

namespace dygraph::program {

namespace {

// An operator that adds a number to a variable in its place.
bool Increments(const OpDesc& op, const std::string& name) {
  return op.type == "increment" && Reads(op, name) && Writes(op, name);
}

double StepOf(const OpDesc& increment) {
  const AttrValue* step = increment.FindAttr("step");
  return step ? NumberOf(*step) : 1;
}

// What takes the number off again. A step is cut towards zero, so both ways by the same number.
OpDesc Undoing(const OpDesc& increment) {
  OpDesc undo = increment;
  undo.SetAttr("step", FloatValue(-StepOf(increment)));
  return undo;
}

Ref<Attrs> AttrsOfCall(const RecipeCall& call, const Forward& f, bool float64) {
  if (call.same_attrs) return f.attrs;
  if (call.attr_fn) {
    Ref<Attrs> computed = Attrs::Make(call.op->attr_table);
    call.attr_fn(f.attrs->data(), computed->mutable_data());
    return computed;
  }
  return call.AttrsFor(float64);
}

// What is open in a call that was made of the forward call's attributes, is given by the same
// variables.
template <class F>
void CopyOpenAttrs(const OpDesc& forward, OpDesc* made, F&& kept) {
  for (const OpDesc::Attr& attr : std::vector<OpDesc::Attr>(made->attrs)) {
    if (!std::holds_alternative<VarName>(attr.value)) continue;
    const std::vector<std::string>* names = forward.Input(attr.name);
    ENFORCE(names, Unimplemented, "the attribute ", attr.name, " of ", made->type,
            " must follow from the forward call's, which a variable gives. Give it a value");
    std::vector<std::string> same;
    for (const std::string& name : *names) same.push_back(kept(name));
    GiveBy(made, attr.name, std::move(same), !forward.FindAttr<VarName>(attr.name));
  }
}

}  // namespace

Forward::Forward(const OpDesc& desc) : op(&GetOp(desc.type)), attrs(ReadAttrs(*op, desc)) {
  for (const SlotInfo& slot : op->inputs) {
    if (const auto* names = desc.Input(slot.name))
      in.insert(in.end(), names->begin(), names->end());
    in_ends.push_back(static_cast<uint32_t>(in.size()));
  }
  for (const SlotInfo& slot : op->outputs) {
    const auto* names = desc.Output(slot.name);
    if (names) {
      out.insert(out.end(), names->begin(), names->end());
    } else if (!slot.extra() && !slot.duplicable()) {
      out.push_back(kEmptyName);
    }
    out_ends.push_back(static_cast<uint32_t>(out.size()));
  }
}

BackwardResult BackwardPass::Run() {
  order_ = request_.targets;
  PlayAll();
  for (const std::string& name : order_) Complete(name);
  for (const std::string& name : request_.with_zeros) {
    if (zero_.count(name) && !result_.grads.count(name)) MakeZeros(name);
  }
  result_.ops = TakeSteps();
  KeepOwnSteps();
  return std::move(result_);
}

void BackwardPass::PlayAll() {
  for (size_t i = 0; i < request_.targets.size(); ++i) {
    const std::string& target = request_.targets[i];
    pending_[target].push_back({request_.target_grads[i], nullptr, 0, 0});
    used_.insert(request_.target_grads[i]);
  }
  FindUseful();
  for (size_t i = ops_.size(); i-- > 0;) {
    Play(static_cast<int>(i));
    if (body_) AddBegun(i);
  }
}

std::vector<const OpDesc*> BackwardPass::Forwards(const BackwardRequest& request) {
  std::vector<const OpDesc*> ops;
  ops.reserve(request.count);
  for (size_t i = 0; i < request.count; ++i) ops.push_back(&request.block.ops()[i]->desc());
  return ops;
}

// Whether the variable's gradient may be computed.
bool BackwardPass::Wants(const std::string& name) const {
  const Var* var = request_.block.FindRecursive(name);
  if (var && var->desc().type.type == VarType::Type::STEP_SCOPES) return true;
  return var && !var->stop_gradient() && !request_.stopped.count(name);
}

bool BackwardPass::IsArray(const std::string& name) const {
  const Var* var = request_.block.FindRecursive(name);
  return var && var->desc().type.type == VarType::Type::LOD_TENSOR_ARRAY;
}

// The variable for the next term of a gradient.
std::string BackwardPass::TermName(const std::string& of) {
  const size_t terms = pending_[of].size();
  if (terms == 0) order_.push_back(of);
  return Free(terms == 0
                  ? GradName(of)
                  : GradName(of) + "@RENAME@block" + block_text_ + "@" + std::to_string(terms));
}

// The array with the gradients of an array's elements.
std::string BackwardPass::GradientArray(const std::string& of) {
  if (const std::string* whole = Complete(of)) return *whole;
  const bool around = body_ && body_->arrays.count(of);
  const std::string name = around ? body_->arrays.at(of) : Free(GradName(of));
  if (around) arrays_.insert(of);
  order_.push_back(of);
  pending_[of].push_back({name, nullptr, 0, 0});
  return name;
}

// Operators on a way from something that wants a gradient to a target.
void BackwardPass::FindUseful() {
  std::unordered_set<std::string> leads = request_.inputs;
  led_.assign(ops_.size(), request_.inputs.empty());
  for (size_t i = 0; !request_.inputs.empty() && i < ops_.size(); ++i) {
    ForNames(ops_[i]->inputs, [&](const std::string& name) {
      led_[i] = led_[i] || (leads.count(name) && Wants(name));
    });
    if (!led_[i]) continue;
    ForNames(ops_[i]->outputs, [&](const std::string& name) { leads.insert(name); });
  }
  std::unordered_set<std::string> reached(request_.targets.begin(), request_.targets.end());
  reached_ = reached;
  useful_.resize(ops_.size());
  for (size_t i = ops_.size(); i-- > 0;) {
    const OpDesc& op = *ops_[i];
    if (HandsValuesOn(op))
      ForNames(op.inputs, [&](const std::string& name) { reached_.insert(name); });
    bool makes = false;
    ForNames(op.outputs,
             [&](const std::string& name) { makes |= reached.count(name) && Wants(name); });
    useful_[i] = makes && led_[i];
    if (!useful_[i]) continue;
    ForNames(op.inputs, [&](const std::string& name) { reached.insert(name); });
  }
}

// Whether what the operator makes leads to a target and was not taken out of the gradient where it
// was made: it wants one, or nothing that it is made of does.
bool BackwardPass::HandsValuesOn(const OpDesc& op) const {
  if (BlockOf(op) < 0 && HasNoGradient(op)) return false;
  bool made_of_wanting = false, hands_on = false;
  ForNames(op.inputs, [&](const std::string& name) { made_of_wanting |= Wants(name); });
  ForNames(op.outputs, [&](const std::string& name) {
    hands_on |= reached_.count(name) && (!made_of_wanting || Wants(name) || BlockOf(op) >= 0);
  });
  return hands_on;
}

// The one variable with the whole gradient of `name`; null where nothing flows. The first request
// appends the sum of the terms.
const std::string* BackwardPass::Complete(const std::string& name) {
  auto at = pending_.find(name);
  if (at == pending_.end() || at->second.empty()) return nullptr;
  std::vector<Term>& terms = at->second;
  if (terms.size() > 1) {
    std::vector<std::string> added;
    for (size_t k = 0; k < terms.size(); ++k) {
      Term& term = terms[k];
      if (term.outputs) {
        std::string renamed =
            GradName(name) + "@RENAME@block" + block_text_ + "@" + std::to_string(k);
        if (renamed != term.name) {
          used_.erase(term.name);
          Rename(term, Free(renamed));
        }
      }
      added.push_back(term.name);
    }
    std::string whole = Free(GradName(name));
    Append(MakeOp("sum", {{"X", std::move(added), {}}}, {{"Out", {whole}, {}}}), -1);
    terms.assign(1, {whole, nullptr, 0, 0});
  }
  return &(result_.grads[name] = terms[0].name);
}

void BackwardPass::Rename(Term& term, const std::string& name) {
  if (read_terms_.count(term.name)) {
    for (Step& step : steps_) RenameArguments(&step.op->inputs, term.name, name);
  }
  (*term.outputs)[term.slot].arguments[term.index] = name;
  term.name = name;
}

std::string BackwardPass::Free(const std::string& name) {
  std::string free = name;
  for (int i = 0; used_.count(free) || request_.block.FindRecursive(free); ++i)
    free = name + "_" + std::to_string(i);
  used_.insert(free);
  return free;
}

OpDesc& BackwardPass::Append(OpDesc op, int forward) {
  steps_.push_back({std::make_unique<OpDesc>(std::move(op)), forward});
  return *steps_.back().op;
}

// Whole gradients of the outputs are taken; earlier writers of these names have gradients of
// their own.
void BackwardPass::Play(int number) {
  const OpDesc& desc = *ops_[number];
  try {
    if (BlockOf(desc) >= 0) return PlayBlock(desc, number);
    if (Undo(desc, number)) return;
    std::unique_ptr<Forward> f;
    std::vector<std::string> out_grads;
    if (useful_[number]) {
      f = std::make_unique<Forward>(desc);
      for (const std::string& name : f->out) {
        const std::string* whole = name != kEmptyName && Wants(name) ? Complete(name) : nullptr;
        out_grads.push_back(whole ? *whole : "");
      }
    }
    bool any = false, zero = false;
    for (const std::string& name : out_grads) any |= !name.empty();
    ForNames(desc.outputs, [&](const std::string& name) {
      if (!IsArray(name)) pending_.erase(name);  // other elements of an array stay
      zero |= zero_.erase(name) > 0;
    });
    if (f && !f->op->has_no_grad && (any || zero)) PlayRecipe(*f, number, out_grads, any);
  } catch (Error& e) {
    e.AddOperator(desc.type);
    e.Append(PositionText(desc, number, request_.block.idx()));
    throw;
  }
}

// What zeros go to: inputs whose gradient is zero where no call made it.
void BackwardPass::NoteZeros(const Forward& f, const Recipe& recipe, const WantedSet& wanted,
                             const std::vector<std::string>& in_grads, bool any) {
  for (size_t i = 0, slot = 0; i < f.in.size(); ++i) {
    while (f.in_ends[slot] <= i) ++slot;
    int index = static_cast<int>(i - (slot ? f.in_ends[slot - 1] : 0));
    if (!wanted.Has(static_cast<int>(i)) || !in_grads[i].empty()) continue;
    bool flat = !Serves(recipe, static_cast<int>(slot), index);
    if (flat ? DerivativeIsZero(*f.op, static_cast<int>(slot)) : !(any && request_.only_flat))
      zero_.insert(f.in[i]);
  }
}

// Operators whose result is zeros in the shape of `name` and which have derivatives, zeros too.
void BackwardPass::MakeZeros(const std::string& name) {
  std::string zeros = Free("zeros.tmp_" + std::to_string(temps_++));
  Append(MakeOp("fill_zeros_like", {{"X", {name}, {}}}, {{"Out", {zeros}, {}}}), -1);
  std::string made = Free(GradName(name));
  // 0 where Out is not above 0, whatever Out@GRAD holds
  Append(MakeOp("relu_grad", {{"Out", {zeros}, {}}, {"Out@GRAD", {name}, {}}},
                {{"X@GRAD", {made}, {}}}),
         -1);
  result_.grads[name] = made;
}

bool BackwardPass::WorksOnFloat64(const Forward& f) const {
  auto is_float64 = [&](const std::string& name) {
    const Var* var = request_.block.FindRecursive(name);
    return var && ElementType(var->desc()) == DType::kFloat64;
  };
  return std::any_of(f.in.begin(), f.in.end(), is_float64) ||
         std::any_of(f.out.begin(), f.out.end(), is_float64);
}

// `any`: whether there is a gradient; else zeros alone arrive.
void BackwardPass::PlayRecipe(const Forward& f, int number,
                              const std::vector<std::string>& out_grads, bool any) {
  WantedSet wanted;
  for (size_t i = 0; i < f.in.size(); ++i) {
    if (f.in[i] != kEmptyName && Wants(f.in[i])) wanted.Set(static_cast<int>(i));
  }
  if (!wanted.any() || (!any && !f.op->grad_maker)) return;
  std::shared_ptr<const Recipe> held =
      HoldRecipe(*f.op, *f.attrs, {f.in_ends.data(), f.in_ends.size()},
                 {f.out_ends.data(), f.out_ends.size()}, wanted);
  const Recipe& recipe = *held;
  std::vector<std::string> temps(recipe.temps), in_grads(f.in.size());
  if (!any) return NoteZeros(f, recipe, wanted, in_grads, any);
  auto find = [&](RecipeRef r) -> std::string {
    switch (r.kind) {
      case RecipeRef::kInput: return Keep(f.in[f.FlatIn(r)], number, true);
      case RecipeRef::kInputShape: return f.in[f.FlatIn(r)];
      case RecipeRef::kOutput: return Keep(f.out[f.FlatOut(r)], number, false);
      case RecipeRef::kOutputGrad: return out_grads[f.FlatOut(r)];
      case RecipeRef::kInputGrad:
        read_terms_.insert(in_grads[f.FlatIn(r)]);
        return in_grads[f.FlatIn(r)];
      case RecipeRef::kTemp: return temps[r.index];
      default: return "";
    }
  };
  const bool float64 = WorksOnFloat64(f);
  for (const RecipeCall& call : recipe.calls) {
    OpDesc made;
    made.type = call.op->type;
    bool complete = true;
    for (size_t s = 0; s < call.in.size(); ++s) {
      OpDesc::Var slot{call.op->inputs[s].name, {}, {}};
      bool present = false;
      for (const RecipeRef& r : call.in[s]) {
        std::string name = find(r);
        if (name == kEmptyName) name.clear();
        present |= !name.empty();
        bool keeps_places = call.in[s].size() > 1 && call.op->inputs[s].dispensable();
        if (!name.empty() || keeps_places)
          slot.arguments.push_back(name.empty() ? kEmptyName : name);
      }
      complete &= present || call.op->inputs[s].dispensable();
      if (!slot.arguments.empty()) made.inputs.push_back(std::move(slot));
    }
    if (!complete) continue;
    WriteAttrs(*AttrsOfCall(call, f, float64), &made, float64);
    if (ops_[number]->FindAttr<bool>(kHandsOn)) made.SetAttr(kHandsOn, true);
    CopyOpenAttrs(*ops_[number], &made,
                  [&](const std::string& name) { return Keep(name, number, true); });
    for (size_t s = 0; s < call.out.size(); ++s)
      made.outputs.push_back({call.op->outputs[s].name, {}, {}});
    if (made.type == "read_from_array") {  // an element that is written twice has one gradient
      if (!made.Output("Rest")) made.outputs.push_back({"Rest", {}, {}});
      // What was added to stays: only a copy goes without the element.
      const bool* adds = ops_[number]->FindAttr<bool>("add");
      *made.Output("Rest") = *made.Input("X");
      if (adds && *adds) *made.Output("Rest") = {Free(made.Input("X")->at(0) + "@REST")};
      if (auto* shape = made.Input("X_W")) shape->clear();  // an element that is missing gives none
    }
    OpDesc& op = Append(std::move(made), number);
    size_t flat = 0;
    for (size_t s = 0; s < call.out.size(); ++s) {
      OpDesc::Var& slot = op.outputs[s];
      for (size_t i = 0; i < call.out[s].size(); ++i, ++flat) {
        RecipeRef r = call.out[s][i];
        if (r.kind == RecipeRef::kTemp) {
          temps[r.index] = Free(f.op->type + "_grad.tmp_" + std::to_string(temps_++));
          slot.arguments.push_back(temps[r.index]);
        } else if (r.kind == RecipeRef::kInputGrad) {
          const std::string& of = f.in[f.FlatIn(r)];
          if (call.op->type == "write_to_array") {  // adds to what the array holds
            op.SetAttr("add", true);
            in_grads[f.FlatIn(r)] = GradientArray(of);
            slot.arguments.push_back(in_grads[f.FlatIn(r)]);
            continue;
          }
          const std::string name = TermName(of);
          in_grads[f.FlatIn(r)] = name;
          slot.arguments.push_back(name);
          pending_[of].push_back({name, &op.outputs, s, slot.arguments.size() - 1});
        } else if (call.out[s].size() > 1) {
          slot.arguments.push_back(kEmptyName);
        }
      }
    }
  }
  NoteZeros(f, recipe, wanted, in_grads, any);
}

// The value an operator saw must still be there when the backward pass reads it.
std::string BackwardPass::Keep(const std::string& name, int number, bool as_input) {
  const std::vector<size_t>& writers = uses_.WritersOf(name);
  const size_t first = as_input ? number : number + 1;
  auto late = std::lower_bound(writers.begin(), writers.end(), first);
  if (BeginsRead(name)) {
    if (IsUndoneFrom(name, 0)) return name;
    ENFORCE(writers.empty() || (as_input && number <= static_cast<int>(writers[0])),
            PreconditionNotMet, "its gradient needs the value of '", name, "', but operator ",
            writers[0], ", ", ops_[writers[0]]->type,
            ", overwrites it in the same iteration. Let that one write another variable");
    return name;
  }
  if (late == writers.end()) return name;
  if (body_ && IsUndoneFrom(name, *late)) return name;
  if (block_steps_.count(*late)) return Restore(name, *late);
  if (const std::string* before = Decremented(name, *late)) return *before;
  THROW(PreconditionNotMet, "its gradient needs the value of '", name, "', but operator ", *late,
        ", ", ops_[*late]->type, ", overwrites it. Let that one write another variable");
}

// Of the block of a body: a variable around it that a turn reads before it writes it. The steps
// keep the value that each began with, unless it is undone.
bool BackwardPass::BeginsRead(const std::string& name) {
  if (!body_ || request_.block.Find(name)) return false;
  if (!body_->uses.Writes(name)) kept_.insert(name);
  return body_->uses.read_first.count(name) > 0;
}

// Whether all that operators from here on do to the variable is to increment it, as an integer: so
// that what is there in the end leads back to what was there before each. A fraction does not come
// back to the same bits.
bool BackwardPass::IsUndoneFrom(const std::string& name, size_t number) const {
  const Var* var = request_.block.FindRecursive(name);
  if (!var || IsInexact(ElementType(var->desc()))) return false;
  const std::vector<size_t>& writers = uses_.WritersOf(name);
  return std::all_of(std::lower_bound(writers.begin(), writers.end(), number), writers.end(),
                     [&](size_t i) { return Increments(*ops_[i], name); });
}

// An integer as it was before operators from `writer` on incremented it: they are taken off again.
// Null where something else wrote it, too.
const std::string* BackwardPass::Decremented(const std::string& name, size_t writer) {
  const Var* var = request_.block.FindRecursive(name);
  if (body_ || !var || IsInexact(ElementType(var->desc()))) return nullptr;
  double sum = 0;
  const std::vector<size_t>& writers = uses_.WritersOf(name);
  auto at = std::lower_bound(writers.begin(), writers.end(), writer);
  for (; at != writers.end(); ++at) {
    if (block_steps_.count(*at)) break;
    if (!Increments(*ops_[*at], name)) return nullptr;
    sum += StepOf(*ops_[*at]);
  }
  constexpr double kExact = 1 << 24;  // in an attribute
  if (sum != std::floor(sum) || std::abs(sum) > kExact) return nullptr;
  std::string& before = restored_[{writer, name}];
  if (!before.empty()) return &before;
  std::string from = at == writers.end() ? name : Restore(name, *at);
  before = Free(name + "@BEFORE");
  OpDesc undo = MakeOp("increment", {{"X", {std::move(from)}, {}}}, {{"Out", {before}, {}}});
  undo.SetAttr("step", static_cast<float>(-sum));
  Append(std::move(undo), static_cast<int>(writer));
  return &before;
}

// The gradient of what ran a block gives a variable back as it was before.
std::string BackwardPass::Restore(const std::string& name, size_t writer) {
  std::string& restored = restored_[{writer, name}];
  if (!restored.empty()) return restored;
  restored = Free(name + "@BEFORE");
  OpDesc& op = *steps_[block_steps_[writer]].op;
  auto* names = op.Output("Restored");
  if (!names) op.outputs.push_back({"Restored", {}, {}});
  op.Output("Restored")->push_back(restored);
  auto of = *op.FindAttr<std::vector<std::string>>("restored");
  of.push_back(name);
  op.SetAttr("restored", std::move(of));
  return restored;
}

std::vector<GradientBlock::Made> BackwardPass::TakeSteps() {
  std::vector<GradientBlock::Made> made;
  for (Step& step : steps_)
    made.push_back({std::move(*step.op), step.forward, std::move(step.block)});
  return made;
}

// In a block that runs again and again an integer that is incremented in place is not kept: going
// back, it is decremented, so that each operator's gradient finds it as the operator did.
bool BackwardPass::Undo(const OpDesc& desc, int number) {
  if (!body_ || desc.type != "increment") return false;
  const std::string& name = desc.Input("X")->at(0);
  if (!Increments(desc, name) || !IsUndoneFrom(name, BeginsRead(name) ? 0 : number)) return false;
  Append(Undoing(desc), number);
  return true;
}

std::string GradName(const std::string& name) { return name + "@GRAD"; }

BackwardResult MakeBackward(const BackwardRequest& request) { return BackwardPass(request).Run(); }

}  // namespace dygraph::program

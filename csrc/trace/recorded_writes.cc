// The end of a recording. A recorder names every value; here variables that were written get one
// name for all their values, and operators learn what they are for.
#include <algorithm>

#include "program/op_binding.h"
#include "program/uses.h"
#include "trace/recorder.h"

namespace dygraph::program {

namespace {

// Fluid's numbers.
constexpr int kForward = 0, kBackward = 1, kOptimize = 2, kLoss = 256;

}  // namespace

// Drops what a backward pass ran without use: gradients that are not kept, and forward calls that
// recompute repeated for their values, which the program still has from the first time.
void Recorder::DropDead(const std::vector<Variable*>& outputs) {
  std::vector<std::string> ends = roots_;
  for (Variable* v : outputs) ends.push_back(names_[v->value_number]);
  for (const Parameter& p : parameters_) {
    if (p.numbers.empty()) continue;
    for (uint64_t number : p.numbers) ends.push_back(names_[number]);
    ends.push_back(names_[p.var->value_number]);
  }
  std::vector<bool> needed = Uses(block_.ops).LeadTo(ends, {});
  Items<OpDesc> ops;
  std::vector<bool> played;
  std::unordered_set<std::string> dropped;
  for (size_t i = 0; i < block_.ops.size(); ++i) {
    if (needed[i] || !played_[i]) {
      ops.Share(block_.ops.TakePart(i));
      played.push_back(played_[i]);
    } else {
      ForNames(block_.ops[i].outputs, [&](const std::string& name) { dropped.insert(name); });
    }
  }
  block_.ops = std::move(ops);
  played_ = std::move(played);
  auto& vars = block_.vars;
  vars.EraseIf([&](const VarDesc& v) { return dropped.count(v.name) > 0; });
}

// An operator of a backward pass is forward all the same where a loss is computed from it (a
// penalty on gradients). One that no backward pass ran is part of the update if only variables that
// are kept come of it, and backward if it reads gradients (their norm, to be shown).
void Recorder::MarkRoles(const std::vector<Variable*>& outputs) {
  result_.trains = !roots_.empty();
  if (!result_.trains) return;
  std::unordered_set<std::string> states;
  for (const Parameter& p : parameters_) {
    for (size_t i = 1; i < p.numbers.size(); ++i) states.insert(names_[p.numbers[i]]);
    if (!p.numbers.empty()) states.insert(names_[p.var->value_number]);
  }
  Uses uses(block_.ops);
  std::vector<std::string> ends = roots_;
  for (Variable* v : outputs) {
    if (!states.count(names_[v->value_number])) ends.push_back(names_[v->value_number]);
  }
  // Values that a variable keeps for the next run end the way: what reads them does not belong to
  // what wrote them.
  std::vector<bool> loss = uses.LeadTo(roots_, states), shown = uses.LeadTo(ends, states),
                    kept = uses.LeadTo({states.begin(), states.end()}, states);
  std::unordered_set<std::string> roots(roots_.begin(), roots_.end()), gradients;
  for (size_t i = 0; i < block_.ops.size(); ++i) {
    OpDesc& op = block_.ops[i];
    int role = kForward;
    bool reads = false, from_root = false;
    ForNames(op.inputs, [&](const std::string& name) {
      reads |= gradients.count(name) > 0;
      from_root |= roots.count(name) > 0;
    });
    if (loss[i]) {
      role = kForward;
    } else if (played_[i]) {
      role = from_root && op.type == "fill_any_like" ? kBackward | kLoss : kBackward;
    } else if (!shown[i] && kept[i]) {
      role = kOptimize;
    } else if (reads) {
      role = kBackward;
    }
    if (role != kForward) {
      ForNames(op.outputs, [&](const std::string& name) {
        if (!states.count(name)) gradients.insert(name);
      });
    }
    ForNames(op.outputs, [&](const std::string& name) {
      if (role == kForward && roots.count(name)) role |= kLoss;
    });
    op.SetAttr("op_role", static_cast<int32_t>(role));
  }
}

// Renames every value of a variable that is kept to the variable's name, so that the program writes
// it as the calls did. A value that is read after the next one was written is copied before.
class Recorder::Writes {
 public:
  explicit Writes(Recorder* recorder) : r_(*recorder), ops_(recorder->block_.ops) {
    for (size_t i = 0; i < ops_.size(); ++i) {
      ForNames(ops_[i].inputs, [&](std::string& name) { uses_[name].push_back({i, &name}); });
      ForNames(ops_[i].outputs, [&](std::string& name) { makers_[name] = {i, &name}; });
    }
  }

  void Shown(uint64_t number) { shown_.insert(number); }

  // The variable `name` takes the value of number `to` in place of `from`.
  void Take(const std::string& name, uint64_t from, uint64_t to, bool last) {
    std::string made = r_.names_[to];
    auto maker = makers_.find(made);
    bool free = maker != makers_.end() && !taken_.count(made);
    size_t at = free ? maker->second.op : ops_.size();
    KeepOld(name, from, at);
    if (!free) {  // an input, or a value that another variable keeps as well
      if (last) late_.push_back({to, name, ""});
      return;
    }
    taken_.insert(name);
    *maker->second.name = name;
    for (const Use& use : uses_[made]) {
      *use.name = name;
      uses_[name].push_back(use);
    }
    uses_.erase(made);
    makers_.erase(made);
    r_.names_[to] = name;
    erased_.insert(made);
  }

  void Finish() {
    Items<OpDesc> ops;
    size_t next = 0;
    for (size_t i = 0; i <= ops_.size(); ++i) {
      for (; next < copies_.size() && copies_[next].op == i; ++next)
        ops.push_back(Copy(copies_[next].from, copies_[next].to));
      if (i < ops_.size()) ops.Share(ops_.TakePart(i));
    }
    for (Late& late : late_) {  // all are read before one is written
      late.between = r_.Unique(late.name + "@NEXT");
      DeclareLike(late.name, late.between);
      ops.push_back(Copy(r_.names_[late.number], late.between));
    }
    for (const Late& late : late_) ops.push_back(Copy(late.between, late.name));
    ops_ = std::move(ops);
    auto& vars = r_.block_.vars;
    vars.EraseIf([&](const VarDesc& v) { return erased_.count(v.name) > 0; });
  }

  // Inserted copies, by the operator they stand before.
  void Sort() {
    std::stable_sort(copies_.begin(), copies_.end(),
                     [](const Inserted& a, const Inserted& b) { return a.op < b.op; });
  }

 private:
  struct Use {
    size_t op;
    std::string* name;
  };
  struct Inserted {
    size_t op;
    std::string from, to;
  };

  void KeepOld(const std::string& name, uint64_t from, size_t at) {
    std::vector<Use>& uses = uses_[name];
    auto late = std::stable_partition(uses.begin(), uses.end(),
                                      [&](const Use& use) { return use.op <= at; });
    bool shown = shown_.count(from) > 0;
    if (late == uses.end() && !shown) return;
    std::string old = r_.Unique(name + "@BEFORE");
    DeclareLike(name, old);
    copies_.push_back({at, name, old});
    for (auto use = late; use != uses.end(); ++use) *use->name = old;
    uses.erase(late, uses.end());
    if (shown) r_.names_[from] = old;
  }

  void DeclareLike(const std::string& name, const std::string& other) {
    VarDesc var = *r_.block_.FindVar(name);
    var.name = other;
    var.persistable.reset();
    r_.block_.vars.push_back(std::move(var));
  }

  OpDesc Copy(const std::string& from, const std::string& to) const {
    OpDesc op = MakeOp("assign", {{"X", {from}, {}}}, {{"Out", {to}, {}}});
    if (r_.result_.trains) op.SetAttr("op_role", static_cast<int32_t>(kOptimize));
    return op;
  }

  Recorder& r_;
  Items<OpDesc>& ops_;
  std::unordered_map<std::string, std::vector<Use>> uses_;
  std::unordered_map<std::string, Use> makers_;
  std::unordered_set<std::string> taken_, erased_;
  std::unordered_set<uint64_t> shown_;
  std::vector<Inserted> copies_;
  struct Late {
    uint64_t number;
    std::string name, between;
  };
  std::vector<Late> late_;
};

void Recorder::WriteParameters(const std::vector<Variable*>& outputs) {
  Writes writes(this);
  for (Variable* v : outputs) writes.Shown(v->value_number);
  std::unordered_set<uint64_t> kept;
  for (Parameter& p : parameters_) {
    if (p.numbers.empty()) continue;
    p.numbers.push_back(p.var->value_number);
    if (!kept.insert(p.numbers.back()).second) writes.Shown(p.numbers.back());
  }
  for (Parameter& p : parameters_) {
    for (size_t i = 1; i < p.numbers.size(); ++i) {
      uint64_t number = p.numbers[i];
      ENFORCE(number != 0 && names_.count(number), PreconditionNotMet, "the variable '", p.name,
              "' was written while recording by something that is not an operator, which a program "
              "cannot repeat. Write with operators, or outside of what is traced");
      if (number == p.numbers[i - 1]) continue;
      if (!result_.weights.count(p.name)) {  // written before anything read it
        names_[p.numbers[0]] = p.name;
        block_.vars.push_back(DescribeValue(p.name, p.var->value(), true));
        result_.weights.emplace(p.name, p.var->value());
      }
      writes.Take(p.name, p.numbers[i - 1], number, i + 1 == p.numbers.size());
    }
  }
  writes.Sort();
  writes.Finish();
  for (OpDesc& op : block_.ops) {  // what an update is for
    if (!result_.trains) break;
    const auto *parameter = op.Input("Param"), *gradient = op.Input("Grad");
    bool update = parameter && gradient && parameter->size() == 1 && gradient->size() == 1;
    std::vector<std::string> pair;
    if (update) pair = {(*parameter)[0], (*gradient)[0]};
    op.SetAttr("op_role_var", pair);
  }
  for (auto source = result_.sources.begin(); source != result_.sources.end();) {
    source =
        result_.weights.count(source->first) ? std::next(source) : result_.sources.erase(source);
  }
}

}  // namespace dygraph::program

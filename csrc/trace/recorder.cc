#include "trace/recorder.h"

#include <algorithm>
#include <atomic>
#include <deque>

#include "passes/prune.h"
#include "program/infer.h"
#include "program/op_binding.h"
#include "program/uses.h"
#include "tape/tape.h"
#include "tape/thread_state.h"

namespace dygraph::program {

namespace {

uint64_t NextNumber() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

VarDesc DescribeValue(const std::string& name, const Value& value, bool persistable) {
  VarDesc var;
  var.name = name;
  Describe(value, &var);
  if (value.is_tensor())
    var.type.lod_tensor->lod_level = static_cast<int32_t>(value.tensor().lod_levels().size());
  if (persistable) var.persistable = true;
  return var;
}

void Makers::Add(const Tensor& made, const std::string& name) {
  if (!made.storage()) return;
  std::lock_guard<std::mutex> lock(mutex_);
  names_.emplace(made.storage().get(), name);
}

std::string Makers::Find(const Tensor& value) const {
  std::lock_guard<std::mutex> lock(mutex_);
  auto known = names_.find(value.storage().get());
  return known == names_.end() ? "" : known->second;
}

std::string Recorder::Unique(const std::string& name) {
  std::string unique = name;
  for (int i = 1; !taken_.insert(unique).second; ++i) unique = name + "_" + std::to_string(i);
  return unique;
}

void Recorder::Declare(Variable& var, const std::string& name, bool persistable) {
  if (var.value_number == 0) var.value_number = NextNumber();
  names_[var.value_number] = name;
  block_.vars.push_back(DescribeValue(name, var.value(), persistable));
}

std::string Recorder::AddFeed(Variable& var, const std::string& name,
                              const std::map<int, std::string>& sizes) {
  ENFORCE(!names_.count(var.value_number) || var.value_number == 0, InvalidArgument,
          "a variable may be given once, got it again as '", name, "'");
  ENFORCE(!var.value().empty(), PreconditionNotMet, "the input '", name,
          "' must hold a value, got an empty variable");
  std::string unique = Unique(name);
  Declare(var, unique, false);
  block_.vars.back().need_check_feed = true;
  SetSizeNames(&block_.vars.back(), sizes);
  recorded_.insert(var.value_number);
  if (var.value().is_tensor()) made_.Add(var.tensor(), unique);
  result_.feeds.push_back(unique);
  return unique;
}

// Weights are declared when an operator first reads one, so that the program names no others.
void Recorder::AddParameter(Variable& var, const std::string& name) {
  ENFORCE(!var.value().empty(), PreconditionNotMet, "the parameter '", name,
          "' must hold a value, got an empty variable");
  if (parameter_of_.count(&var)) return;  // shared by two layers
  // A copy of another one is a parameter of its own.
  if (var.value_number == 0 || names_.count(var.value_number)) var.value_number = NextNumber();
  std::string unique = Unique(name);
  names_[var.value_number] = unique;
  parameter_of_[&var] = parameters_.size();
  parameters_.push_back({Ref<Variable>(&var), unique, {}});
  result_.sources.emplace(unique, Ref<Variable>(&var));
}

void Recorder::AddWeight(Variable& var, const std::string& name) {
  Declare(var, name, true);
  result_.weights.emplace(name, Lasting(var.value()));
}

const std::string& Recorder::NameOf(Variable& var) {
  auto known = names_.find(var.value_number);
  if (var.value_number != 0 && known != names_.end()) {
    if (!recorded_.count(var.value_number) && !result_.weights.count(known->second))
      AddWeight(var, known->second);
    return names_[var.value_number];
  }
  if (var.value().is_tensor() && var.tensor().numel() > 0) {
    std::string source = made_.Find(var.tensor());
    ENFORCE(
        source.empty(), PreconditionNotMet,
        "a program can follow a value only through operators, but here one shares the data of '",
        source, "' and no operator made it, at ", where_());
  }
  std::string name = Unique(var.persistable && !var.name().empty() ? var.name() : "constant_0");
  AddWeight(var, name);
  if (var.persistable) {
    result_.sources.emplace(name, Ref<Variable>(&var));
  } else {
    result_.constants.insert(name);
  }
  return names_[var.value_number];
}

void Recorder::OnCall(const EagerCall& call) {
  OpDesc op;
  op.type = call.op.type;
  for (size_t s = 0; s < call.op.inputs.size(); ++s) {
    OpDesc::Var slot{call.op.inputs[s].name, {}, {}};
    for (int i = 0; i < call.in.count(static_cast<int>(s)); ++i) {
      Variable* v = call.in.at(static_cast<int>(s), i);
      slot.arguments.push_back(v ? NameOf(*v) : kEmptyName);
    }
    op.inputs.push_back(std::move(slot));
  }
  std::string prefix = call.op.type + "_" + std::to_string(counters_[call.op.type]++) + ".tmp_";
  int made = 0;
  std::unordered_set<const Storage*> read;  // in it: known, or an outsider's in its own right
  for (Variable* in : call.in.flat()) {
    if (in && in->value().is_tensor()) read.insert(in->tensor().storage().get());
  }
  for (size_t s = 0; s < call.op.outputs.size(); ++s) {
    int count = call.out.count(static_cast<int>(s));
    if (call.op.outputs[s].extra() && count == 0) continue;
    OpDesc::Var slot{call.op.outputs[s].name, {}, {}};
    for (int i = 0; i < count; ++i) {
      Variable* v = call.out.at(static_cast<int>(s), i);
      if (!v || v->value().empty()) {
        slot.arguments.push_back(kEmptyName);
        continue;
      }
      std::string name = Unique(prefix + std::to_string(made++));
      v->value_number = NextNumber();
      Declare(*v, name, false);
      recorded_.insert(v->value_number);
      slot.arguments.push_back(name);
      if (!v->value().is_tensor()) continue;
      if (!read.count(v->tensor().storage().get())) made_.Add(v->tensor(), name);
    }
    op.outputs.push_back(std::move(slot));
  }
  WriteAttrs(*call.attrs, &op, AnyFloat64(call.in) || AnyFloat64(call.out));
  op.SetAttr(kCallstackAttr, std::vector<std::string>{where_()});
  if (revise_) revise_(op);
  block_.ops.push_back(std::move(op));
  played_.push_back(CurrentThread().playing > 0);
}

const std::string* Recorder::FindName(const Variable& var) const {
  if (var.value_number == 0 || !recorded_.count(var.value_number)) return nullptr;
  auto known = names_.find(var.value_number);
  return known == names_.end() ? nullptr : &known->second;
}

std::map<std::string, std::vector<int64_t>> Recorder::InferOp(
    size_t i, const std::map<std::string, std::vector<int64_t>>& dims) const {
  for (size_t v = places_.size(); v < block_.vars.size(); ++v) places_[block_.vars[v].name] = v;
  std::deque<VarDesc> replaced;  // addresses stay
  std::map<std::string, std::vector<int64_t>> result;
  InferShapes(
      block_.ops[i],
      [&](const std::string& name) -> const VarDesc* {
        auto at = places_.find(name);
        if (at == places_.end()) return nullptr;
        const VarDesc& var = block_.vars[at->second];
        auto other = dims.find(name);
        if (other == dims.end()) return &var;
        replaced.push_back(var);
        if (auto* tensor = const_cast<VarType::TensorDesc*>(TensorOf(replaced.back())))
          tensor->dims = other->second;
        return &replaced.back();
      },
      [&](const std::string& name, const Value& value, int) {
        if (!value.empty()) result[name].assign(value.dims().begin(), value.dims().end());
      });
  return result;
}

void Recorder::OnWrite(Variable& var) {
  auto parameter = parameter_of_.find(&var);
  if (parameter != parameter_of_.end())
    parameters_[parameter->second].numbers.push_back(var.value_number);
}

void Recorder::OnBackward(Variable& root) { roots_.push_back(NameOf(root)); }

void Recorder::OnRead(Variable& var, const char* how) {
  if (var.value_number == 0 || !recorded_.count(var.value_number)) return;
  THROW(PreconditionNotMet, how,
        " of a value that is being recorded cannot become part of a program, since it would "
        "freeze what this batch holds, at ",
        where_(), ". Compute with operators, or read it outside the traced layer");
}

// In inference a normalisation returns its running means unchanged, in variables that are never
// read. The program names the running means themselves, which is what Fluid's operator demands.
void Recorder::WriteUnchangedParameters() {
  Uses uses(block_.ops);
  std::unordered_set<std::string> fetched(result_.fetches.begin(), result_.fetches.end());
  auto written_once = [&](const std::string& name) {
    return uses.WritersOf(name).size() == 1 && uses.ReadersOf(name).empty() && !fetched.count(name);
  };
  std::unordered_set<std::string> dropped;
  for (OpDesc& op : block_.ops) {
    if (IsFeed(op) || IsFetch(op)) continue;
    const OpInfo& info = GetOp(op.type);
    if (!KeepsRunningMeans(info, op)) continue;
    for (auto [in, out] : info.in_place) {
      if (info.inputs[in].name == "X") continue;  // normalised, not kept
      const std::vector<std::string>* from = op.Input(info.inputs[in].name);
      std::vector<std::string>* to = op.Output(info.outputs[out].name);
      if (!from || !to || from->size() != 1 || to->size() != 1) continue;
      std::string& name = to->front();
      if (!result_.weights.count(from->front()) || !written_once(name)) continue;
      dropped.insert(name);
      name = from->front();
    }
  }
  block_.vars.EraseIf([&](const VarDesc& v) { return dropped.count(v.name) > 0; });
}

Recording Recorder::Finish(const std::vector<Variable*>& outputs) {
  ENFORCE(!outputs.empty(), InvalidArgument, "a program needs at least one output, got none");
  for (Variable* v : outputs) NameOf(*v);
  DropDead(outputs);
  MarkRoles(outputs);
  WriteParameters(outputs);
  for (Variable* v : outputs) result_.fetches.push_back(names_[v->value_number]);
  WriteUnchangedParameters();
  block_.idx = 0;
  block_.parent_idx = -1;
  FeedAndFetch ends(result_.feeds, result_.fetches);
  for (VarDesc& holder : ends.holders) block_.vars.push_back(std::move(holder));
  Items<OpDesc> ops;
  for (OpDesc& op : ends.before) ops.push_back(std::move(op));
  for (size_t i = 0; i < block_.ops.size(); ++i) ops.Share(block_.ops.TakePart(i));
  for (OpDesc& op : ends.after) ops.push_back(std::move(op));
  block_.ops = std::move(ops);
  result_.program.blocks.push_back(std::move(block_));
  result_.program.version.emplace().version = 0;
  return std::move(result_);
}

}  // namespace dygraph::program

// Less memory for more time: what the gradients read of the forward pass, but for the checkpoints,
// is computed again shortly before it is read (Chen and others, "Training deep nets with sublinear
// memory cost", 2016).
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "op/op_registry.h"
#include "passes/pass.h"
#include "program/describe.h"
#include "program/op_binding.h"
#include "program/uses.h"

namespace dygraph::program {

namespace {

using Names = std::vector<std::string>;

constexpr int32_t kBackward = 1;  // of OpRole

bool IsBackward(const OpDesc& op) {
  const auto* role = op.FindAttr<int32_t>("op_role");
  return role && (*role & kBackward);
}

Names Arguments(const std::vector<OpDesc::Var>& slots) {
  Names names;
  std::unordered_set<std::string> seen;
  ForNames(slots, [&](const std::string& name) {
    if (seen.insert(name).second) names.push_back(name);
  });
  return names;
}

void Rename(std::vector<OpDesc::Var>* slots, const std::string& from, const std::string& to) {
  for (OpDesc::Var& slot : *slots)
    std::replace(slot.arguments.begin(), slot.arguments.end(), from, to);
}

class Recompute {
 public:
  // The first `forward` operators of the block, and the gradient operators from `backward` on.
  Recompute(Block& block, size_t forward, size_t backward, const Names& checkpoints)
      : block_(block), ops_(block.ops()), backward_(backward) {
    FindMakers(forward, {checkpoints.begin(), checkpoints.end()});
  }

  void Run() {
    result_.assign(ops_.begin(), ops_.begin() + static_cast<ptrdiff_t>(backward_));
    for (size_t i = backward_; i < ops_.size(); ++i) {
      Op& op = *ops_[i];
      if (IsBackward(op.desc())) {
        for (const std::string& name : Arguments(op.desc().inputs)) {
          Make(name);
          auto again = made_.find(name);
          if (again != made_.end()) Rename(&op.Edit().inputs, name, again->second);
        }
      }
      result_.push_back(ops_[i]);
    }
    block_.SetOps(std::move(result_));
  }

 private:
  // Which operator can make a variable again, up to the last one that writes a checkpoint.
  void FindMakers(size_t forward, const std::unordered_set<std::string>& checkpoints) {
    std::vector<const OpDesc*> descs;
    for (size_t i = 0; i < forward; ++i) descs.push_back(&ops_[i]->desc());
    const Uses uses(descs);
    size_t end = 0;
    for (const std::string& name : checkpoints) {
      const std::vector<size_t>& writers = uses.WritersOf(name);
      if (!writers.empty()) end = std::max(end, writers.back());
    }
    for (size_t i = 0; i < end; ++i) {
      const OpInfo* info = FindOp(descs[i]->type);
      const Names written = Arguments(descs[i]->outputs), read = Arguments(descs[i]->inputs);
      // Not twice: numbers drawn, statistics that go on, variables that several operators write.
      if (!info || info->random || std::any_of(written.begin(), written.end(), [&](auto& name) {
            return checkpoints.count(name) || uses.WritersOf(name).size() > 1 || Lasts(name) ||
                   std::find(read.begin(), read.end(), name) != read.end();
          })) {
        continue;
      }
      for (const std::string& name : written) makers_.emplace(name, i);
    }
  }

  // Whether the variable is there anyway: persistable or fed.
  bool Lasts(const std::string& name) const {
    const Var* var = block_.FindRecursive(name);
    return var && (var->desc().persistable.value_or(false) ||
                   var->desc().need_check_feed.value_or(false));
  }

  // The operators that make the variable again, unless they stand there already.
  void Make(const std::string& name) {
    Names waiting = {name};  // what is made of others waits for them: chains have any length
    while (!waiting.empty()) {
      auto maker = makers_.find(waiting.back());
      if (maker == makers_.end() || made_.count(waiting.back())) {
        waiting.pop_back();
        continue;
      }
      const size_t number = maker->second;
      const Op& source = *ops_[number];
      const Names inputs = Arguments(source.desc().inputs);
      const size_t waits = waiting.size();
      for (auto own = inputs.rbegin(); own != inputs.rend(); ++own) {
        auto before = makers_.find(*own);
        if (!made_.count(*own) && before != makers_.end() && before->second < number)
          waiting.push_back(*own);
      }
      if (waiting.size() == waits) MakeAgain(source, inputs);
    }
  }

  void MakeAgain(const Op& source, const Names& inputs) {
    OpDesc op = source.desc();
    for (const std::string& own : inputs) {
      auto again = made_.find(own);
      if (again != made_.end()) Rename(&op.inputs, own, again->second);
    }
    for (const std::string& own : Arguments(op.outputs)) {
      made_[own] = own + "@RECOMPUTE";
      Rename(&op.outputs, own, made_[own]);
    }
    const auto* lines = op.FindAttr<Names>(kCallstackAttr);
    result_.push_back(MakeRef<Op>(op));
    CompleteGradient(block_, result_.back(), &source,
                     lines && !lines->empty() ? lines->back() : "");
  }

  Block& block_;
  const std::vector<OpRef> ops_;
  const size_t backward_;
  std::unordered_map<std::string, size_t> makers_;
  std::unordered_map<std::string, std::string> made_;  // variable -> what stands for it
  std::vector<OpRef> result_;
};

// Operators that are described meanwhile belong to the backward pass.
class MarkedBackward {
 public:
  explicit MarkedBackward(Program& program) : program_(program), before_(program.marks) {
    program.marks.role = kBackward;
    program.marks.role_var.clear();
  }
  ~MarkedBackward() { program_.marks = std::move(before_); }
  MarkedBackward(const MarkedBackward&) = delete;
  MarkedBackward& operator=(const MarkedBackward&) = delete;

 private:
  Program& program_;
  Marks before_;
};

void RunRecompute(PassCall& call) {
  const auto& blocks = call.program().blocks();
  const auto number = call.option<int64_t>("block");
  ENFORCE(number >= 0 && number < static_cast<int64_t>(blocks.size()), OutOfRange,
          "recompute: block must be one of the program's ", blocks.size(), ", got ", number);
  Block& block = *blocks[number];
  const auto& ops = block.ops();
  const auto count = static_cast<int64_t>(ops.size());
  int64_t backward = call.option<int64_t>("backward"), forward = call.option<int64_t>("forward");
  if (backward < 0) {
    backward = std::find_if(ops.begin(), ops.end(),
                            [](const OpRef& op) { return IsBackward(op->desc()); }) -
               ops.begin();
  }
  if (forward < 0) forward = backward;
  ENFORCE(forward <= backward && backward <= count, OutOfRange,
          "recompute: forward and backward must be numbers of operators in this order, up to ",
          count, ", got ", forward, " and ", backward);
  const Names& checkpoints = call.option<Names>("checkpoints");
  for (const std::string& name : checkpoints) {
    ENFORCE(block.FindRecursive(name), InvalidArgument,
            "recompute: a checkpoint must be a variable of the program, got '", name, "'");
  }
  MarkedBackward marked(call.program());
  Recompute(block, static_cast<size_t>(forward), static_cast<size_t>(backward), checkpoints).Run();
}

void DefineRecompute(PassDef& pass) {
  pass.Comment("Less memory for more time: gradient operators read what is computed again, from "
               "the checkpoints, shortly before. Operators that draw numbers or go on from run to "
               "run are not run again.")
      .Option("checkpoints", Names(), "results of the forward pass that are kept")
      .Option("block", int64_t{0}, "the number of the block")
      .Option("forward", int64_t{-1},
              "how many operators the forward pass has; -1: all before the backward pass")
      .Option("backward", int64_t{-1},
              "the number of the first gradient operator; -1: the first one of that role")
      .Run(RunRecompute);
}

}  // namespace

REGISTER_PASS(recompute, DefineRecompute);

}  // namespace dygraph::program

// Optimizer steps beside the gradients that feed them: a gradient is read while it is in the
// cache, and its memory is free before the next one is made.
#include <algorithm>
#include <unordered_set>

#include "passes/pass.h"
#include "program/op_binding.h"

namespace dygraph::program {

namespace {

// An operator that writes the parameter it reads.
bool IsUpdate(const OpDesc& op) {
  const auto *from = op.Input("Param"), *to = op.Output("ParamOut");
  return from && to && from->size() == 1 && *from == *to && op.Input("Grad");
}

// What two operators must not have in common to change places.
struct Names {
  std::unordered_set<std::string> reads, writes;
  explicit Names(const OpDesc& op) {
    ForNames(op.inputs, [&](const std::string& name) { reads.insert(name); });
    ForNames(op.outputs, [&](const std::string& name) { writes.insert(name); });
  }
  bool IsBefore(const Names& later) const {
    auto meet = [](const auto& a, const auto& b) {
      return std::any_of(a.begin(), a.end(), [&](const auto& name) { return b.count(name); });
    };
    return meet(writes, later.reads) || meet(writes, later.writes) || meet(reads, later.writes);
  }
};

// A step that throws leaves the parameters that it has updated. Operators that call the host
// language may look at parameters, and those that run a block read more than their slots say.
bool IsFixed(const OpDesc& op) {
  bool fixed = op.type == "py_func" || op.type == "print" || IsFeed(op) || IsFetch(op);
  ForBlocks(op, [&](int32_t) { fixed = true; });
  return fixed;
}

void MoveUpdates(PassCall& call) {
  Block& block = *call.program().blocks()[0];
  std::vector<OpRef> ops;
  std::vector<Names> names;
  for (const OpRef& op : block.ops()) {
    Names own(op->desc());
    size_t at = ops.size();
    if (IsUpdate(op->desc())) {
      while (at > 0 && !IsFixed(ops[at - 1]->desc()) && !names[at - 1].IsBefore(own)) --at;
      // Behind other steps that stand there: they run together.
      while (at < ops.size() && IsUpdate(ops[at]->desc())) ++at;
    }
    ops.insert(ops.begin() + at, op);
    names.insert(names.begin() + at, std::move(own));
  }
  block.SetOps(std::move(ops));
}

void DefineEarlyUpdates(PassDef& pass) {
  pass.Comment(
          "Optimizer steps stand right behind the operator that makes the last value they read, so "
          "that each gradient is gone before the next one is made. If a run fails, parameters "
          "whose step was done keep it.")
      .Run(MoveUpdates);
}

}  // namespace

REGISTER_PASS(early_updates, DefineEarlyUpdates);

}  // namespace dygraph::program

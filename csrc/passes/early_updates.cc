// Updates of optimizers move up to the gradients that feed them.
#include <algorithm>

#include "op/op_registry.h"
#include "passes/graph.h"
#include "passes/pass.h"
#include "program/op_binding.h"

namespace dygraph::program {
namespace {

// An operator that writes the parameter it reads.
bool IsUpdate(const OpDesc& op) {
  const auto *param = op.Input("Param"), *out = op.Output("ParamOut");
  return param && out && param->size() == 1 && *param == *out && IsPure(op);
}

// For each node the last one that has to come before it: it gives what the node reads, or reads or
// writes what the node overwrites.
std::vector<int> LastBefore(const BlockGraph& graph) {
  std::vector<int> last(graph.nodes().size(), kNone);
  for (const BlockGraph::Version& version : graph.versions()) {
    for (int reader : version.consumers) last[reader] = std::max(last[reader], version.producer);
    if (version.next == kNone) continue;
    const int writer = graph.version(version.next).producer;
    last[writer] = std::max(last[writer], version.producer);
    for (int reader : version.consumers) {
      if (reader != writer) last[writer] = std::max(last[writer], reader);
    }
  }
  return last;
}

void MoveUpdates(PassCall& call) {
  Graph whole(&call.program());
  if (whole.blocks().size() > 1) return;
  const BlockGraph& graph = whole.blocks()[0];
  const int count = static_cast<int>(graph.nodes().size());
  std::vector<std::vector<int>> behind(count);  // the updates that follow a node
  std::vector<bool> moved(count);
  const std::vector<int> before = LastBefore(graph);
  int barrier = kNone;  // what prints, calls Python or uses files sees as much as before
  for (int n = 0; n < count; ++n) {
    const OpDesc& op = graph.node(n).desc();
    if (IsUpdate(op)) {
      const int last = std::max(before[n], barrier);
      moved[n] = last != kNone;
      if (moved[n]) behind[last].push_back(n);
    } else if (!IsPure(op) && !IsFeed(op) && !IsRandom(op)) {
      barrier = n;
    }
  }
  std::vector<OpRef> ops;
  std::vector<int> next;  // a stack
  for (int n = count; n-- > 0;) {
    if (!moved[n]) next.push_back(n);
  }
  while (!next.empty()) {
    const int n = next.back();
    next.pop_back();
    ops.push_back(graph.node(n).op);
    next.insert(next.end(), behind[n].rbegin(), behind[n].rend());
  }
  if (ops != graph.block().ops()) graph.block().SetOps(std::move(ops));
}

void DefineEarlyUpdates(PassDef& pass) {
  pass.Comment(
          "Updates of optimizers move up to the gradients that feed them, so that gradients end "
          "early and are still in the caches. A run that fails, or is interrupted, may have "
          "updated some parameters by then. Programs with several blocks stay as they are.")
      .Run(MoveUpdates);
}

REGISTER_PASS(early_updates, DefineEarlyUpdates);

}  // namespace
}  // namespace dygraph::program

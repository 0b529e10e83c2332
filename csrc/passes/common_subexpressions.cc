// Operators that compute what an earlier one of their block has computed.
#include <unordered_map>

#include "passes/graph.h"
#include "passes/pass.h"
#include "passes/same.h"

namespace dygraph::program {
namespace {

// All that decides what an operator computes, as text.
std::string KeyOf(const BlockGraph& graph, int n) {
  const BlockGraph::Node& node = graph.node(n);
  const OpDesc& op = node.desc();
  std::string key = op.type;
  auto add = [&](const std::string& part) {
    key += '\0';
    key += part;
  };
  size_t at = 0;
  for (const OpDesc::Var& slot : op.inputs) {
    add(slot.parameter);
    for (const std::string& name : slot.arguments)
      add(name == kEmptyName ? name : std::to_string(node.inputs[at++]));
  }
  add("");
  for (const OpDesc::Var& slot : op.outputs) {  // which results there are
    add(slot.parameter);
    for (const std::string& name : slot.arguments) add(name == kEmptyName ? name : "");
  }
  add(AttrsText(op));
  return key;
}

void Share(BlockGraph& graph, bool orders_terms) {
  std::unordered_map<std::string, int> first;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const int n = static_cast<int>(i);
    const BlockGraph::Node& node = graph.node(n);
    if (!IsFunction(graph, n) || (orders_terms && IsBackward(node.desc()))) continue;
    auto [at, is_new] = first.emplace(KeyOf(graph, n), n);
    if (is_new) continue;
    const BlockGraph::Node& other = graph.node(at->second);
    bool same = node.outputs.size() == other.outputs.size();
    for (size_t k = 0; same && k < node.outputs.size(); ++k) {
      const BlockGraph::Version &one = graph.version(other.outputs[k]),
                                &two = graph.version(node.outputs[k]);
      same = !two.wanted && one.var && two.var && SameKind(*one.var, *two.var);
    }
    const std::vector<int> outputs = node.outputs, others = other.outputs;
    for (size_t k = 0; same && k < outputs.size(); ++k) same = graph.Replace(outputs[k], others[k]);
    if (same) {
      graph.Remove(n);
    } else {
      at->second = n;  // the later ones are nearer to it
    }
  }
}

void DropCommonSubexpressions(PassCall& call) {
  Graph graph(&call.program(), call.option<std::vector<std::string>>("keep"));
  for (BlockGraph& block : graph.blocks()) Share(block, graph.orders_terms());
  graph.Write();
}

void DefineCommonSubexpressions(PassDef& pass) {
  pass.Comment(
          "Of operators of one block with equal type, attributes and inputs only the first "
          "computes. Operators of the backward pass share with each other alone, so that what "
          "recompute computes again stays.")
      .Option("keep", std::vector<std::string>(), "variables that are fetched")
      .Run(DropCommonSubexpressions);
}

REGISTER_PASS(common_subexpressions, DefineCommonSubexpressions);

}  // namespace
}  // namespace dygraph::program

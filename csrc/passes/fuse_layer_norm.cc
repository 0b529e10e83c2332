// The sum at the end of a transformer's block and the normalisation behind it become one operator.
#include "passes/facts.h"
#include "passes/graph.h"
#include "passes/pass.h"
#include "passes/same.h"
#include "program/op_binding.h"

namespace dygraph::program {
namespace {

void Fuse(BlockGraph& graph, Facts& facts, int norm) {
  const OpDesc& op = graph.node(norm).desc();
  const int sum = graph.Input(norm, "X"), y = graph.Output(norm, "Y");
  const int scale = graph.Input(norm, "Scale"), shift = graph.Input(norm, "Bias");
  const int add = graph.MadeFor(sum, norm, {"elementwise_add"});
  if (add == kNone || y == kNone || scale == kNone || shift == kNone || !IsFunction(graph, norm) ||
      !IsFunction(graph, add))
    return;
  for (int v : graph.node(norm).outputs) {
    if (v != y && !graph.IsUnread(v)) return;  // the means
  }
  const int a = graph.Input(add, "X"), b = graph.Input(add, "Y");
  if (a == kNone || b == kNone) return;
  const DType dtype = facts.dtype(a);
  const auto *one = DeclaredSizes(graph.version(a).var),
             *other = DeclaredSizes(graph.version(b).var);
  if ((dtype != DType::kFloat32 && dtype != DType::kFloat64) || !one || !other || *one != *other ||
      one->empty())
    return;
  for (int v : {a, b, scale, shift}) {
    if (!graph.StandsAt(v, norm)) return;
  }
  auto name = [&](int v) { return graph.version(v).name; };
  OpDesc fused = MakeOp("skip_layernorm",
                        {{"X", {name(a)}, {}},
                         {"Y", {name(b)}, {}},
                         {"Scale", {name(scale)}, {}},
                         {"Bias", {name(shift)}, {}}},
                        {{"Out", {name(y)}, {}}});
  for (const char* attr : {"epsilon", "begin_norm_axis"}) {
    if (const AttrValue* value = op.FindAttr(attr)) fused.SetAttr(attr, *value);
  }
  TakeMarks(op, &fused);
  graph.Become(norm, std::move(fused), {a, b, scale, shift});
  graph.RemoveUnread({add});
}

void FuseLayerNorm(PassCall& call) {
  Graph graph(&call.program(), call.option<std::vector<std::string>>("keep"));
  for (BlockGraph& block : graph.blocks()) {
    Facts facts(block);
    for (size_t n = 0; n < block.nodes().size(); ++n) {
      if (block.nodes()[n].desc().type == "layer_norm") Fuse(block, facts, static_cast<int>(n));
    }
  }
  graph.Write();
}

void DefineFuseLayerNorm(PassDef& pass) {
  pass.Comment(
          "The sum of two arrays of one shape and layer_norm behind it become skip_layernorm, with "
          "the same bits. For inference: where a backward pass reads the sum or the means, both "
          "stay.")
      .Option("keep", std::vector<std::string>(), "variables that are fetched")
      .Run(FuseLayerNorm);
}

REGISTER_PASS(fuse_layer_norm, DefineFuseLayerNorm);

}  // namespace
}  // namespace dygraph::program

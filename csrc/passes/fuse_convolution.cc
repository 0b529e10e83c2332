// A convolution by filters of 3 x 3, the bias behind it and relu become one operator, which takes
// Winograd's method.
#include "passes/facts.h"
#include "passes/graph.h"
#include "passes/pass.h"
#include "passes/same.h"
#include "program/op_binding.h"

namespace dygraph::program {
namespace {

constexpr int64_t kLeastChannels = 16;  // below, the operator takes no other method

bool AreOnes(const OpDesc& op, const char* attr) {
  const auto* list = op.FindAttr<std::vector<int32_t>>(attr);
  return !list || (*list == std::vector<int32_t>{1, 1});
}

bool IsApt(const OpDesc& op) {
  const auto* order = op.FindAttr<std::string>("data_format");
  return AreOnes(op, "strides") && AreOnes(op, "dilations") && NumberIn(op, "groups", 1) == 1 &&
         (!order || *order == "NCHW" || *order == "AnyLayout");
}

void Fuse(BlockGraph& graph, Facts& facts, int add, bool as_declared) {
  const int sums = graph.Input(add, "X"), bias = graph.Input(add, "Y");
  int result = graph.Output(add, "Out"), last = add;
  const int conv = graph.MadeFor(sums, add, {"conv2d"});
  if (conv == kNone || bias == kNone || bias == sums || result == kNone ||
      !IsApt(graph.node(conv).desc()) || graph.Input(conv, "Bias") != kNone ||
      graph.Input(conv, "ResidualData") != kNone)
    return;
  const int x = graph.Input(conv, "Input"), filter = graph.Input(conv, "Filter");
  if (x == kNone || filter == kNone) return;
  const auto *taps = DeclaredSizes(graph.version(filter).var),
             *vector = DeclaredSizes(graph.version(bias).var);
  if (!taps || !vector || taps->size() != 4 || (*taps)[0] < kLeastChannels ||
      (*taps)[1] < kLeastChannels || (*taps)[2] != 3 || (*taps)[3] != 3 || vector->size() != 1 ||
      (*vector)[0] != (*taps)[0] || NumberIn(graph.node(add).desc(), "axis", -1) != 1)
    return;
  DType dtype = facts.dtype(x);
  if (as_declared && dtype == DType::kUnset && graph.version(filter).number == 0)
    dtype = ElementType(graph.version(filter).var->desc());
  if (dtype != DType::kFloat32) return;
  const int relu = graph.OnlyConsumer(result);
  const bool ends = relu != kNone && graph.node(relu).desc().type == "relu" &&
                    IsFunction(graph, relu) && graph.Output(relu, "Out") != kNone;
  if (ends) {
    last = relu;
    result = graph.Output(relu, "Out");
  }
  if (!IsFunction(graph, conv) || !IsFunction(graph, add) || !graph.StandsAt(x, last) ||
      !graph.StandsAt(filter, last) || !graph.StandsAt(bias, last))
    return;
  auto name = [&](int v) { return graph.version(v).name; };
  OpDesc fused = MakeOp(
      "conv2d_fusion",
      {{"Input", {name(x)}, {}}, {"Filter", {name(filter)}, {}}, {"Bias", {name(bias)}, {}}},
      {{"Output", {name(result)}, {}}});
  for (const char* attr : {"paddings", "padding_algorithm", "strides", "dilations"}) {
    if (const AttrValue* value = graph.node(conv).desc().FindAttr(attr)) fused.SetAttr(attr, *value);
  }
  fused.SetAttr("activation", std::string(ends ? "relu" : "identity"));
  TakeMarks(graph.node(last).desc(), &fused);
  graph.Become(last, std::move(fused), {x, filter, bias});
  graph.RemoveUnread({conv, add});
}

void FuseConvolution(PassCall& call) {
  Graph graph(&call.program(), call.option<std::vector<std::string>>("keep"));
  for (BlockGraph& block : graph.blocks()) {
    Facts facts(block);
    for (size_t n = 0; n < block.nodes().size(); ++n) {
      if (block.nodes()[n].desc().type == "elementwise_add")
        Fuse(block, facts, static_cast<int>(n), call.option<bool>("as_declared"));
    }
  }
  graph.Write();
}

void DefineFuseConvolution(PassDef& pass) {
  pass.Comment(
          "A convolution with filters of 3 x 3 and stride 1, its bias and relu become "
          "conv2d_fusion, which takes Winograd's method: it rounds differently. For "
          "inference: what a backward pass reads stays.")
      .Option("keep", std::vector<std::string>(), "variables that are fetched")
      .Option("as_declared", true, "weights have the types that the program says, as when loaded")
      .Run(FuseConvolution);
}

REGISTER_PASS(fuse_convolution, DefineFuseConvolution);

}  // namespace
}  // namespace dygraph::program

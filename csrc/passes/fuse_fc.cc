// A product with a weight, the bias behind it and relu become one operator.
#include "passes/facts.h"
#include "passes/graph.h"
#include "passes/pass.h"
#include "passes/same.h"
#include "program/op_binding.h"

namespace dygraph::program {
namespace {

class Fuser {
 public:
  Fuser(BlockGraph& graph, bool as_declared)
      : graph_(graph), facts_(graph), as_declared_(as_declared) {}

  void Run() {
    for (size_t n = 0; n < graph_.nodes().size(); ++n) {
      if (graph_.nodes()[n].desc().type == "elementwise_add") Fuse(static_cast<int>(n));
    }
  }

 private:
  static bool IsPlainProduct(const OpDesc& op) {
    if (op.type == "mul") return NumberIn(op, "y_num_col_dims", 1) == 1;
    return op.type == "matmul_v2" ? !FlagOf(op, "trans_x") && !FlagOf(op, "trans_y")
                                  : !FlagOf(op, "transpose_X") && !FlagOf(op, "transpose_Y") &&
                                        NumberIn(op, "alpha", 1) == 1;
  }

  void Fuse(int add) {
    const OpDesc& sum = graph_.node(add).desc();
    const int product = graph_.Input(add, "X"), bias = graph_.Input(add, "Y");
    const int out = graph_.Output(add, "Out");
    const int mul = graph_.MadeFor(product, add, {"mul", "matmul", "matmul_v2"});
    if (mul == kNone || bias == kNone || out == kNone || bias == product ||
        !IsPlainProduct(graph_.node(mul).desc()))
      return;
    const int x = graph_.Input(mul, "X"), w = graph_.Input(mul, "Y");
    if (x == kNone || w == kNone) return;
    DType dtype = facts_.dtype(x);
    if (as_declared_ && dtype == DType::kUnset && graph_.version(w).var &&
        graph_.version(w).number == 0)
      dtype = ElementType(graph_.version(w).var->desc());
    if (dtype != DType::kFloat32 && dtype != DType::kFloat64) return;
    // The operator checks these sizes in a run, so that another weight raises.
    const auto *matrix = DeclaredSizes(graph_.version(w).var),
               *vector = DeclaredSizes(graph_.version(bias).var),
               *from = DeclaredSizes(graph_.version(x).var);
    if (!matrix || !vector || !from || matrix->size() != 2 || vector->size() != 1 ||
        (*vector)[0] <= 0 || (*vector)[0] != (*matrix)[1])
      return;
    const bool is_mul = graph_.node(mul).desc().type == "mul";
    const double rows = is_mul ? NumberIn(graph_.node(mul).desc(), "x_num_col_dims", 1)
                               : static_cast<double>(from->size()) - 1;
    const double axis = NumberIn(sum, "axis", -1);
    if (!(rows >= 1) || (axis != -1 && axis != rows)) return;

    int last = add, result = out;
    const int relu = graph_.OnlyConsumer(out);
    if (relu != kNone && graph_.node(relu).desc().type == "relu" && IsFunction(graph_, relu) &&
        graph_.Output(relu, "Out") != kNone) {
      last = relu;
      result = graph_.Output(relu, "Out");
    }
    if (!IsFunction(graph_, mul) || !IsFunction(graph_, add) || !graph_.StandsAt(x, last) ||
        !graph_.StandsAt(w, last) || !graph_.StandsAt(bias, last))
      return;
    auto name = [&](int v) { return graph_.version(v).name; };
    OpDesc fc =
        MakeOp("fc", {{"Input", {name(x)}, {}}, {"W", {name(w)}, {}}, {"Bias", {name(bias)}, {}}},
               {{"Out", {name(result)}, {}}});
    fc.SetAttr("in_num_col_dims", static_cast<int32_t>(rows));
    if (last != add) fc.SetAttr("activation_type", std::string("relu"));
    TakeMarks(graph_.node(last).desc(), &fc);
    graph_.Become(last, std::move(fc), {x, w, bias});
    graph_.RemoveUnread({mul, add});
  }

  BlockGraph& graph_;
  Facts facts_;
  bool as_declared_;
};

void FuseFc(PassCall& call) {
  Graph graph(&call.program(), call.option<std::vector<std::string>>("keep"));
  for (BlockGraph& block : graph.blocks()) Fuser(block, call.option<bool>("as_declared")).Run();
  graph.Write();
}

void DefineFuseFc(PassDef& pass) {
  pass.Comment(
          "A product with a weight, the bias behind it and relu become the operator fc, with the "
          "same bits. For inference: what a backward pass reads stays.")
      .Option("keep", std::vector<std::string>(), "variables that are fetched")
      .Option("as_declared", false, "weights have the types that the program says, as when loaded")
      .Run(FuseFc);
}

REGISTER_PASS(fuse_fc, DefineFuseFc);

}  // namespace
}  // namespace dygraph::program

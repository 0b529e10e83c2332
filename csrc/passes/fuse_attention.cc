// Attention from its parts: a product with keys, a scale, a mask, softmax, a product with values.
#include <cmath>

#include "op/op_registry.h"
#include "passes/facts.h"
#include "passes/graph.h"
#include "passes/pass.h"
#include "passes/same.h"
#include "program/describe.h"
#include "program/op_binding.h"

namespace dygraph::program {
namespace {

class Fuser {
 public:
  explicit Fuser(BlockGraph& graph) : graph_(graph), facts_(graph) {}

  void Run() {
    for (size_t n = 0; n < graph_.nodes().size(); ++n) {
      const std::string& type = graph_.nodes()[n].desc().type;
      if (type == "matmul" || type == "matmul_v2") Fuse(static_cast<int>(n));
    }
  }

 private:
  struct Turned {
    bool x, y;
    double alpha;
  };
  static Turned Of(const OpDesc& op) {
    if (op.type == "matmul_v2") return {FlagOf(op, "trans_x"), FlagOf(op, "trans_y"), 1};
    return {FlagOf(op, "transpose_X"), FlagOf(op, "transpose_Y"), NumberIn(op, "alpha", 1)};
  }

  // The operator is a factor without summand, which is multiplied into `scale`; its input, else
  // none.
  int Factor(int n, double* scale) const {
    const OpDesc& op = graph_.node(n).desc();
    const auto* tensor = op.Input("ScaleTensor");
    if ((tensor && !tensor->empty()) || NumberIn(op, "bias", 0) != 0) return kNone;
    *scale *= NumberIn(op, "scale", 1);
    return graph_.Input(n, "X");
  }

  // Dropout that passes its input on.
  static bool PassesOn(const OpDesc& op) {
    const auto* kind = op.FindAttr<std::string>("dropout_implementation");
    return FlagOf(op, "is_test") && kind && *kind == "upscale_in_train";
  }

  // Backwards from the product with the values.
  void Fuse(int last) {
    const Turned end = Of(graph_.node(last).desc());
    const int v = graph_.Input(last, "Y"), out = graph_.Output(last, "Out");
    if (v == kNone || out == kNone || end.x || end.y || end.alpha != 1) return;
    std::vector<int> parts;
    int at = graph_.Input(last, "X"), reader = last, mask = kNone;
    auto before = [&](std::initializer_list<const char*> types) {
      const int n = graph_.MadeFor(at, reader, types);
      if (n != kNone) {
        parts.push_back(n);
        reader = n;
      }
      return n;
    };
    int n = graph_.MadeFor(at, reader, {"dropout"});
    if (n != kNone) {
      if (!PassesOn(graph_.node(n).desc())) return;
      before({"dropout"});
      at = graph_.Input(n, "X");
    }
    n = before({"softmax"});
    if (n == kNone) return;
    at = graph_.Input(n, "X");
    if (at == kNone) return;
    const auto* scores = DeclaredSizes(graph_.version(at).var);
    if (!scores || scores->size() < 3) return;
    const double rank = static_cast<double>(scores->size()),
                 axis = NumberIn(graph_.node(n).desc(), "axis", -1);
    if (axis != -1 && axis != rank - 1) return;
    n = before({"elementwise_add"});
    if (n != kNone) {
      mask = graph_.Input(n, "Y");
      at = graph_.Input(n, "X");
      const auto* sizes = mask == kNone ? nullptr : DeclaredSizes(graph_.version(mask).var);
      const double from = NumberIn(graph_.node(n).desc(), "axis", -1);
      if (!sizes || sizes->size() > scores->size() ||
          (from != -1 && from != rank - static_cast<double>(sizes->size())))
        return;
    }
    double scale = 1;
    n = before({"scale"});
    if (n != kNone) at = Factor(n, &scale);
    n = before({"matmul", "matmul_v2"});
    if (n == kNone) return;
    const Turned first = Of(graph_.node(n).desc());
    if (first.x || !first.y) return;
    scale *= first.alpha;
    int q = graph_.Input(n, "X");
    const int k = graph_.Input(n, "Y");
    if (q == kNone || k == kNone) return;
    at = q;
    n = before({"scale"});
    if (n != kNone) q = Factor(n, &scale);
    if (q == kNone || !(std::abs(scale) > 0) || !std::isfinite(scale)) return;
    if (Fits(q, k, v, last) && (mask == kNone || graph_.StandsAt(mask, last)))
      Write(last, out, {q, k, v, mask}, scale, parts);
  }

  // Arrays of one rank with equal leading axes, which are there still. A run checks them again.
  bool Fits(int q, int k, int v, int last) {
    const auto *a = DeclaredSizes(graph_.version(q).var), *b = DeclaredSizes(graph_.version(k).var),
               *c = DeclaredSizes(graph_.version(v).var);
    if (!a || !b || !c || a->size() < 3 || b->size() != a->size() || c->size() != a->size())
      return false;
    for (size_t i = 0; i + 2 < a->size(); ++i) {
      if ((*a)[i] != (*b)[i] || (*a)[i] != (*c)[i]) return false;
    }
    const DType dtype = facts_.dtype(q);
    return (dtype == DType::kFloat32 || dtype == DType::kFloat64) && graph_.StandsAt(q, last) &&
           graph_.StandsAt(k, last) && graph_.StandsAt(v, last);
  }

  // The name of a new variable, after that of a result.
  std::string New(int out, const char* suffix, const Dims& dims, DType dtype) {
    Tensor like;
    like.SetMeta(dims, dtype);
    int number = 0;
    auto next = [&] {
      const std::string name = graph_.version(out).name + suffix;
      return number++ == 0 ? name : name + std::to_string(number);
    };
    Block& block = graph_.block();
    return DeclareResult(*block.program(), block, Value(std::move(like)), next)->name();
  }

  void Write(int last, int out, std::vector<int> inputs, double scale,
             const std::vector<int>& parts) {
    for (int n : parts) {
      const bool passes = graph_.node(n).desc().type == "dropout";
      if (!passes && !IsFunction(graph_, n)) return;
    }
    static const char* kSlots[] = {"Query", "Key", "Value", "Mask"};
    if (inputs.back() == kNone) inputs.pop_back();
    std::vector<OpDesc::Var> slots;
    for (size_t i = 0; i < inputs.size(); ++i)
      slots.push_back({kSlots[i], {graph_.version(inputs[i]).name}, {}});
    const std::vector<int64_t>& sizes = *DeclaredSizes(graph_.version(inputs[0]).var);
    const Dims rows(sizes.begin(), sizes.end() - 1);
    OpDesc op = MakeOp("scaled_dot_product_attention", std::move(slots),
                       {{"Out", {graph_.version(out).name}, {}},
                        {"LogTotal", {New(out, ".log_total", rows, facts_.dtype(inputs[0]))}, {}},
                        {"Drawn", {New(out, ".drawn", {0}, DType::kInt64)}, {}}});
    op.SetAttr("scale", FloatValue(scale));
    op.SetAttr("is_test", true);
    TakeMarks(graph_.node(last).desc(), &op);
    graph_.Become(last, std::move(op), inputs);
    for (int n : parts) {
      bool unread = true;
      for (int v : graph_.node(n).outputs) unread &= graph_.IsUnread(v);
      if (unread) graph_.Remove(n);
    }
  }

  BlockGraph& graph_;
  Facts facts_;
};

// Another random operator would draw other numbers, since attention counts among them.
bool Draws(const Graph& graph) {
  for (const BlockRef& block : graph.program().blocks()) {
    for (const OpRef& op : block->ops()) {
      const OpDesc& desc = op->desc();
      if (IsFeed(desc) || IsFetch(desc) || FlagOf(desc, "is_test")) continue;
      if (desc.type == "scaled_dot_product_attention" && NumberIn(desc, "dropout_prob", 0) == 0)
        continue;
      try {
        if (GetOp(desc.type).random) return true;
      } catch (const Error&) {
        return true;
      }
    }
  }
  return false;
}

void FuseAttention(PassCall& call) {
  Graph graph(&call.program(), call.option<std::vector<std::string>>("keep"));
  if (Draws(graph)) return;
  for (BlockGraph& block : graph.blocks()) Fuser(block).Run();
  graph.Write();
}

void DefineFuseAttention(PassDef& pass) {
  pass.Comment(
          "matmul with the keys, scale, mask, softmax and matmul with the values become "
          "scaled_dot_product_attention. It rounds otherwise: results agree to 1e-5 of the largest "
          "value in float32, and a query all of whose keys a mask of -1e30 or less hides gives "
          "zeros. For inference, in programs that draw no random numbers.")
      .Option("keep", std::vector<std::string>(), "variables that are fetched")
      .Run(FuseAttention);
}

REGISTER_PASS(fuse_attention, DefineFuseAttention);

}  // namespace
}  // namespace dygraph::program

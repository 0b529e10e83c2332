// Operators that move or convert values to and fro.
#include <algorithm>
#include <functional>

#include "passes/facts.h"
#include "passes/graph.h"
#include "passes/pass.h"
#include "passes/same.h"
#include "program/op_binding.h"

namespace dygraph::program {
namespace {

using Ints = std::vector<int32_t>;

bool IsReal(DType type) {
  return type == DType::kFloat16 || type == DType::kBFloat16 || type == DType::kFloat32 ||
         type == DType::kFloat64;
}

// Whether every number of one type is one of the other, so that a cast there and back changes none.
bool Holds(DType from, DType to) {
  auto bits = [](DType type) {  // of a whole number that is exact
    switch (type) {
      case DType::kBool: return 1;
      case DType::kInt8: return 7;
      case DType::kUInt8: return 8;
      case DType::kInt16: return 15;
      case DType::kInt32: return 31;
      case DType::kInt64: return 63;
      case DType::kBFloat16: return 8;
      case DType::kFloat16: return 11;
      case DType::kFloat32: return 24;
      case DType::kFloat64: return 53;
      default: return 0;
    }
  };
  if (bits(from) == 0 || bits(to) == 0 || to == DType::kBool) return false;
  if (IsReal(from)) {
    return to == DType::kFloat64
               ? from != DType::kFloat64
               : to == DType::kFloat32 && from != DType::kFloat64 && from != DType::kFloat32;
  }
  const bool keeps_sign = to != DType::kUInt8 || from == DType::kBool;
  return keeps_sign && bits(from) <= bits(to) && from != to;
}

class Canceller {
 public:
  Canceller(BlockGraph& graph, bool orders_terms)
      : graph_(graph), facts_(graph), orders_terms_(orders_terms) {}

  void Run() {
    for (size_t i = 0; i < graph_.nodes().size(); ++i) {
      const int n = static_cast<int>(i);
      const OpDesc& op = graph_.node(n).desc();
      const bool moves = op.type == "assign" || op.type == "scale" || op.type == "cast" ||
                         IsTranspose(op) || Reshapes(op);
      if (!moves || !IsFunction(graph_, n) ||
          (orders_terms_ && (IsBackward(op) || FlagOf(op, "hands_on"))))
        continue;
      const int x = graph_.Input(n, "X"), out = graph_.Output(n, "Out");
      if (x == kNone || out == kNone) continue;
      const int before = graph_.version(x).producer;
      if (op.type == "assign" || (op.type == "scale" && IsUnit(n))) {
        Drop(n, out, x);
      } else if (op.type == "cast") {
        Cast(n, x, out, before);
      } else if (IsTranspose(op)) {
        Transpose(n, x, out, before);
      } else if (Reshapes(op)) {
        Reshape(n, x, out, before);
      }
    }
  }

 private:
  static bool IsTranspose(const OpDesc& op) {
    return op.type == "transpose" || op.type == "transpose2";
  }
  static bool IsReshape(const OpDesc& op) { return op.type == "reshape" || op.type == "reshape2"; }

  // Readers of `out` read `by`, which has the same bits; the operators that nothing needs then go.
  // Where `out` has to be there, it is a copy.
  void Drop(int n, int out, int by) {
    const BlockGraph::Version &one = graph_.version(out), &other = graph_.version(by);
    if (!one.var || !other.var || !SameKind(*one.var, *other.var)) return;
    graph_.Replace(out, by);
    const int before = graph_.version(graph_.Input(n, "X")).producer;
    graph_.RemoveUnread({n});
    if (graph_.node(n).removed || graph_.node(n).desc().type == "assign" || OthersAreRead(n, out) ||
        !graph_.StandsAt(by, n))
      return;
    OpDesc copy = MakeOp("assign", {{"X", {other.name}, {}}}, {{"Out", {one.name}, {}}});
    TakeMarks(graph_.node(n).desc(), &copy);
    graph_.Become(n, std::move(copy), {by});
    if (before != kNone) graph_.RemoveUnread({before});
  }

  // The operator reads what the one before it read.
  void Skip(int n, int x, int w, const std::function<void(OpDesc*)>& change) {
    if (!graph_.StandsAt(w, n)) return;  // it has another value by now
    OpDesc desc = graph_.node(n).desc();
    change(&desc);
    *desc.Input("X") = {graph_.version(w).name};
    std::vector<int> inputs = graph_.node(n).inputs;
    std::replace(inputs.begin(), inputs.end(), x, w);
    graph_.Become(n, std::move(desc), inputs);
    if (graph_.version(x).producer != kNone) graph_.RemoveUnread({graph_.version(x).producer});
  }

  bool IsUnit(int n) const {
    const OpDesc& op = graph_.node(n).desc();
    const auto* tensor = op.Input("ScaleTensor");
    return NumberIn(op, "scale", 1) == 1 && NumberIn(op, "bias", 0) == 0 &&
           (!tensor || tensor->empty());
  }

  static DType Target(const OpDesc& op) {
    const auto* wire = op.FindAttr<int32_t>("out_dtype");
    for (int i = 0; wire && i < kNumDTypes; ++i) {
      if (ToWire(static_cast<DType>(i)) == *wire) return static_cast<DType>(i);
    }
    return DType::kUnset;
  }

  void Cast(int n, int x, int out, int before) {
    const DType to = Target(graph_.node(n).desc());
    if (to == DType::kUnset) return;
    if (facts_.dtype(x) == to) return Drop(n, out, x);
    if (before == kNone || graph_.node(before).desc().type != "cast" ||
        !IsFunction(graph_, before) || graph_.Output(before, "Out") != x)
      return;
    const int w = graph_.Input(before, "X");
    const DType from = w == kNone ? DType::kUnset : facts_.dtype(w);
    if (from == DType::kUnset || !Holds(from, facts_.dtype(x))) return;
    if (from == to) return Drop(n, out, w);
    if (!IsReal(from) || !IsReal(to)) return;
    Skip(n, x, w, [&](OpDesc* op) {
      if (op->FindAttr("in_dtype")) op->SetAttr("in_dtype", static_cast<int32_t>(ToWire(from)));
    });
  }

  // The permutation, or nothing where it is none.
  static Ints Axes(const OpDesc& op) {
    const auto* axis = op.FindAttr<Ints>("axis");
    if (!axis) return {};
    Ints axes = *axis, seen(axes.size());
    for (int32_t& a : axes) {
      if (a < 0) a += static_cast<int32_t>(axes.size());
      if (a < 0 || a >= static_cast<int32_t>(axes.size()) || seen[a]++) return {};
    }
    return axes;
  }

  static bool Stays(const Ints& axes) { return std::is_sorted(axes.begin(), axes.end()); }

  // Results other than Out, such as XShape, that something reads.
  bool OthersAreRead(int n, int out) const {
    for (int v : graph_.node(n).outputs) {
      if (v != out && !graph_.IsUnread(v)) return true;
    }
    return false;
  }

  void Transpose(int n, int x, int out, int before) {
    const Ints axes = Axes(graph_.node(n).desc());
    if (axes.empty()) return;
    if (Stays(axes)) return Drop(n, out, x);
    if (before == kNone || !IsTranspose(graph_.node(before).desc()) ||
        !IsFunction(graph_, before) || graph_.Output(before, "Out") != x)
      return;
    const int w = graph_.Input(before, "X");
    const Ints first = Axes(graph_.node(before).desc());
    if (w == kNone || first.size() != axes.size()) return;
    Ints both;
    for (int32_t a : axes) both.push_back(first[a]);
    // Sequences stay with the first axis alone; once it has moved, they are gone.
    if ((first[0] != 0 || axes[0] != 0) && both[0] == 0 && !facts_.HasNoLevels(w)) return;
    if (Stays(both)) return Drop(n, out, w);
    if (OthersAreRead(n, out)) return;  // XShape has the sizes of x
    Skip(n, x, w, [&](OpDesc* op) { op->SetAttr("axis", both); });
  }

  // Gives the elements of X another shape, and nothing else.
  static bool Reshapes(const OpDesc& op) {
    static const char* kTypes[] = {"reshape",  "reshape2",  "squeeze",
                                   "squeeze2", "unsqueeze", "unsqueeze2",
                                   "flatten",  "flatten2",  "flatten_contiguous_range"};
    return std::any_of(std::begin(kTypes), std::end(kTypes),
                       [&](const char* type) { return op.type == type; });
  }

  void Reshape(int n, int x, int out, int before) {
    if (SameSizes(x, out)) return Drop(n, out, x);
    if (before == kNone || !Reshapes(graph_.node(before).desc()) || !IsFunction(graph_, before) ||
        graph_.Output(before, "Out") != x)
      return;
    const int w = graph_.Input(before, "X");
    if (w == kNone) return;
    if (SameSizes(w, out) || Undoes(n, before, w)) return Drop(n, out, w);
    const OpDesc& op = graph_.node(n).desc();
    const auto* shape = op.FindAttr<Ints>("shape");
    // The sizes are those of the attribute alone: no input gives them, and no 0 copies one of x's.
    if (!IsReshape(op) || !shape || shape->empty() || graph_.node(n).inputs.size() != 1 ||
        std::count(shape->begin(), shape->end(), 0) > 0 || OthersAreRead(n, out))
      return;
    if (facts_.HasNoLevels(w) && facts_.HasNoLevels(x)) Skip(n, x, w, [](OpDesc*) {});
  }

  // One new axis is put in and taken out. In front of the first one it would end the sequences.
  bool Undoes(int n, int before, int w) {
    const OpDesc &in = graph_.node(before).desc(), &out = graph_.node(n).desc();
    const auto *put = in.FindAttr<Ints>("axes"), *taken = out.FindAttr<Ints>("axes");
    return in.type.rfind("unsqueeze", 0) == 0 && out.type.rfind("squeeze", 0) == 0 && put &&
           taken && put->size() == 1 && *put == *taken && graph_.node(before).inputs.size() == 1 &&
           graph_.node(n).inputs.size() == 1 && ((*put)[0] > 0 || facts_.HasNoLevels(w));
  }

  // In every run: with one open size the number of elements decides it.
  bool SameSizes(int one, int other) {
    const Dims *a = facts_.SizesOf(one), *b = facts_.SizesOf(other);
    if (!a || !b || a->rank() != b->rank() || !facts_.HasNoLevels(one)) return false;
    int64_t open = 0, zeros = 0;
    for (int i = 0; i < a->rank(); ++i) {
      if ((*a)[i] != (*b)[i]) return false;
      open += (*a)[i] < 0;
      zeros += (*a)[i] == 0;
    }
    return open == 0 || (open == 1 && zeros == 0);
  }

  BlockGraph& graph_;
  Facts facts_;
  const bool orders_terms_;
};

void CancelMoves(PassCall& call) {
  Graph graph(&call.program(), call.option<std::vector<std::string>>("keep"));
  for (BlockGraph& block : graph.blocks()) Canceller(block, graph.orders_terms()).Run();
  graph.Write();
}

void DefineCancelMoves(PassDef& pass) {
  pass.Comment(
          "Transposes, reshapes and casts that undo each other are left out, chains become one, "
          "copies and scales by 1 go. A cast there and back goes only where no number changes.")
      .Option("keep", std::vector<std::string>(), "variables that are fetched")
      .Run(CancelMoves);
}

REGISTER_PASS(cancel_moves, DefineCancelMoves);

}  // namespace
}  // namespace dygraph::program

// Operators fed by constants alone are computed once, by the executor, while the pass runs.
#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "passes/facts.h"
#include "passes/graph.h"
#include "passes/pass.h"
#include "passes/same.h"
#include "program/evaluate.h"
#include "program/op_binding.h"

namespace dygraph::program {
namespace {

using Longs = std::vector<int64_t>;

template <class T>
std::vector<T> Elements(const Tensor& t) {
  const T* data = t.data<T>();
  return {data, data + t.numel()};
}

template <class To, class T>
std::vector<To> Widened(const Tensor& t) {
  const T* data = t.data<T>();
  return std::vector<To>(data, data + t.numel());
}

// All elements have the bits of the first.
bool IsUniform(const Tensor& t) {
  const auto* bytes = static_cast<const char*>(t.raw_data());
  const size_t size = SizeOf(t.dtype());
  for (int64_t i = 1; i < t.numel(); ++i) {
    if (std::memcmp(bytes, bytes + static_cast<size_t>(i) * size, size) != 0) return false;
  }
  return t.numel() > 0;
}

bool IsNan(const Tensor& t) {
  for (int64_t i = 0; i < t.numel(); ++i) {
    const double v = t.dtype() == DType::kFloat32   ? static_cast<double>(t.data<float>()[i])
                     : t.dtype() == DType::kFloat64 ? t.data<double>()[i]
                                                    : 0.0;
    if (v != v) return true;
  }
  return false;
}

// An operator that writes the tensor with these very bits; false where none can.
bool Literal(const Tensor& t, const std::string& out, OpDesc* op) {
  if (t.lod() || IsNan(t)) return false;  // the sign of a NaN is not kept everywhere
  const Longs dims(t.dims().begin(), t.dims().end());
  if (IsUniform(t) && (t.dtype() == DType::kFloat32 || t.dtype() == DType::kFloat64 ||
                       t.dtype() == DType::kInt64 || t.dtype() == DType::kInt32)) {
    *op = MakeOp("fill_constant", {}, {{"Out", {out}, {}}});
    op->SetAttr("dtype", static_cast<int32_t>(ToWire(t.dtype())));
    op->SetAttr("shape", dims);
    if (t.dtype() == DType::kFloat32) {
      op->SetAttr("value", t.data<float>()[0]);
    } else if (t.dtype() == DType::kFloat64) {
      op->SetAttr("value", FloatValue(t.data<double>()[0]));
    } else {
      const int64_t value =
          t.dtype() == DType::kInt64 ? t.data<int64_t>()[0] : t.data<int32_t>()[0];
      op->SetAttr("value", static_cast<float>(value));
      op->SetAttr("str_value", std::to_string(value));
    }
    return true;
  }
  *op = MakeOp("assign_value", {}, {{"Out", {out}, {}}});
  op->SetAttr("dtype", static_cast<int32_t>(ToWire(t.dtype())));
  op->SetAttr("shape", std::vector<int32_t>(dims.begin(), dims.end()));
  switch (t.dtype()) {
    case DType::kBool: op->SetAttr("bool_values", Widened<int32_t, bool>(t)); return true;
    case DType::kUInt8: op->SetAttr("int32_values", Widened<int32_t, uint8_t>(t)); return true;
    case DType::kInt8: op->SetAttr("int32_values", Widened<int32_t, int8_t>(t)); return true;
    case DType::kInt16: op->SetAttr("int32_values", Widened<int32_t, int16_t>(t)); return true;
    case DType::kInt32: op->SetAttr("int32_values", Elements<int32_t>(t)); return true;
    case DType::kInt64: op->SetAttr("int64_values", Elements<int64_t>(t)); return true;
    case DType::kFloat32: op->SetAttr("fp32_values", Elements<float>(t)); return true;
    case DType::kFloat64: {
      std::vector<float> values;
      for (double v : Elements<double>(t)) {
        values.push_back(static_cast<float>(v));
        if (static_cast<double>(values.back()) != v) return false;
      }
      op->SetAttr("fp32_values", std::move(values));
      return true;
    }
    default: return false;
  }
}

class Folder {
 public:
  Folder(BlockGraph& graph, int64_t limit, bool orders_terms)
      : graph_(graph), facts_(graph), limit_(limit), orders_terms_(orders_terms) {}

  void Run() {
    FindConstants();
    for (size_t i = 0; i < needed_.size(); ++i) {
      const int n = static_cast<int>(i);
      if (needed_[i] && Compute(n) && !IsSource(n)) computed_.push_back(n);
    }
    // From behind, so that those in between are unread by then.
    for (size_t i = computed_.size(); i-- > 0;) {
      graph_.RemoveUnread({computed_[i]});
      if (!graph_.node(computed_[i]).removed) Write(computed_[i]);
    }
  }

 private:
  // What gives its constant already stays as it is.
  bool IsSource(int n) const {
    const BlockGraph::Node& node = graph_.node(n);
    return node.inputs.empty() &&
           (node.desc().type == "fill_constant" || node.desc().type == "assign_value");
  }

  // Operators that may be computed, and those that give them constants.
  void FindConstants() {
    std::vector<bool> constant(graph_.versions().size());
    needed_.resize(graph_.nodes().size());
    for (size_t i = 0; i < needed_.size(); ++i) {
      const int n = static_cast<int>(i);
      const BlockGraph::Node& node = graph_.node(n);
      const bool folds =
          node.desc().type == "shape" ||
          (!node.inputs.empty() &&
           std::all_of(node.inputs.begin(), node.inputs.end(), [&](int v) { return constant[v]; }));
      if (!(folds || IsSource(n)) || !IsFunction(graph_, n) ||
          (orders_terms_ && IsBackward(node.desc())))
        continue;
      needed_[i] = folds;
      for (int v : node.outputs) constant[v] = true;
    }
    for (size_t i = needed_.size(); i-- > 0;) {
      if (!needed_[i]) continue;
      for (int v : graph_.node(static_cast<int>(i)).inputs) {
        if (constant[v] && graph_.version(v).producer != kNone)
          needed_[graph_.version(v).producer] = true;
      }
    }
  }

  bool IsSmall(const Dims* dims) const {
    if (!dims || dims->HasUnknown()) return false;
    int64_t count = 1;
    for (int64_t size : *dims) {
      if (size > limit_ || (count *= size) > limit_) return false;
    }
    return true;
  }

  // The values of what the operator writes, if they are the same in every run.
  bool Compute(int n) {
    const BlockGraph::Node& node = graph_.node(n);
    const bool sizes = node.desc().type == "shape";
    std::vector<int> inputs;
    for (int v : node.inputs) {
      if (std::find(inputs.begin(), inputs.end(), v) == inputs.end()) inputs.push_back(v);
    }
    for (int v : inputs) {
      if (!values_.count(v) && !(sizes && IsSmall(facts_.SizesOf(v)))) return false;
    }
    for (int v : node.outputs) {
      if (!IsSmall(facts_.SizesOf(v)) || !graph_.version(v).var) return false;
    }
    ProgramDesc program;
    BlockDesc& block = program.blocks.emplace_back();
    std::vector<std::string> feeds, fetches;
    std::vector<Value> given;
    auto declare = [&](int v) {
      VarDesc var;
      var.name = graph_.version(v).name;
      var.type = graph_.version(v).var->desc().type;
      block.vars.push_back(std::move(var));
    };
    for (int v : inputs) {
      declare(v);
      feeds.push_back(graph_.version(v).name);
      auto at = values_.find(v);
      if (at == values_.end()) {
        Tensor of(*facts_.SizesOf(v), facts_.dtype(v));
        std::memset(of.mutable_raw_data(), 0, static_cast<size_t>(of.numel()) * SizeOf(of.dtype()));
        given.emplace_back(std::move(of));
      } else {
        given.push_back(at->second);
      }
    }
    for (int v : node.outputs) {
      declare(v);
      fetches.push_back(graph_.version(v).name);
    }
    block.ops.push_back(node.desc());
    try {
      std::vector<Value> made = TheEvaluator()(
          std::make_shared<const ProgramDesc>(std::move(program)), feeds, given, fetches);
      for (size_t i = 0; i < made.size(); ++i) {
        if (!made[i].is_tensor()) return false;
      }
      for (size_t i = 0; i < made.size(); ++i) values_[node.outputs[i]] = std::move(made[i]);
    } catch (const Error&) {
      return false;  // a run raises it
    }
    return true;
  }

  // The constant in place of the operator that computes it.
  void Write(int n) {
    const BlockGraph::Node& node = graph_.node(n);
    int read = kNone;
    for (int v : node.outputs) {
      if (graph_.IsUnread(v)) continue;
      if (read != kNone) return;  // one operator writes one constant
      read = v;
    }
    OpDesc literal;
    const BlockGraph::Version& version = graph_.version(read);
    if (!Literal(values_[read].tensor().Plain(), version.name, &literal)) return;
    TakeMarks(node.desc(), &literal);
    const std::vector<int> before = node.inputs;
    graph_.Become(n, std::move(literal), {});
    for (int v : before) {
      if (graph_.version(v).producer != kNone) graph_.RemoveUnread({graph_.version(v).producer});
    }
  }

  BlockGraph& graph_;
  Facts facts_;
  const int64_t limit_;
  const bool orders_terms_;
  std::unordered_map<int, Value> values_;  // of versions that are constant
  std::vector<bool> needed_;
  std::vector<int> computed_;
};

void FoldConstants(PassCall& call) {
  const int64_t limit = call.option<int64_t>("limit");
  ENFORCE(limit >= 0, InvalidArgument,
          "fold_constants: limit is a number of elements and must be at least 0, got ", limit);
  Graph graph(&call.program(), call.option<std::vector<std::string>>("keep"));
  for (BlockGraph& block : graph.blocks()) Folder(block, limit, graph.orders_terms()).Run();
  graph.Write();
}

void DefineFoldConstants(PassDef& pass) {
  pass.Comment(
          "Operators that read constants alone, or the sizes of what is fed, are computed once, on "
          "the CPU, and become fill_constant or assign_value where these hold the same bits.")
      .Option("keep", std::vector<std::string>(), "variables that are fetched")
      .Option("limit", int64_t{1024}, "the most elements of each constant")
      .Run(FoldConstants);
}

REGISTER_PASS(fold_constants, DefineFoldConstants);

}  // namespace
}  // namespace dygraph::program

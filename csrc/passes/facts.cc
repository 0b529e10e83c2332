#include "passes/facts.h"

#include <algorithm>
#include <unordered_map>

#include "op/op_registry.h"
#include "program/infer.h"
#include "program/op_binding.h"

namespace dygraph::program {

void Facts::Begin(int v) {
  const BlockGraph::Version& version = graph_.version(v);
  if (!version.var || version.var->block() != &graph_.block() || graph_.block().idx() != 0) return;
  const VarDesc& desc = version.var->desc();
  if (desc.type.type != VarType::Type::LOD_TENSOR || !desc.type.lod_tensor) return;
  auto known = std::make_unique<Known>();
  known->desc = desc;
  if (desc.persistable.value_or(false)) {
    known->sized = known->typed = false;
    for (int64_t& size : known->desc.type.lod_tensor->tensor.dims) size = -1;
  }
  known->dims = DimsOf(known->desc.type.lod_tensor->tensor);
  known_[v] = std::move(known);
}

void Facts::Infer(int n) {
  const BlockGraph::Node& node = graph_.node(n);
  if (IsFeed(node.desc())) {  // what is fed is checked against its description
    for (int v : node.outputs) Begin(v);
    return;
  }
  if (node.body != kNone || !node.hidden_inputs.empty() || node.outputs.empty()) return;
  std::unordered_map<std::string, int> inputs, outputs;
  bool sized = true, one_typed = node.inputs.empty(), all_typed = true;
  for (int v : node.inputs) {
    if (!known_[v]) return;
    sized &= known_[v]->sized;
    all_typed &= known_[v]->typed;
    one_typed |= known_[v]->typed;
    inputs[graph_.version(v).name] = v;
  }
  for (int v : node.outputs) outputs[graph_.version(v).name] = v;
  try {
    // Inputs of another type than the others' raise in a run, but for operators that take such.
    const bool typed = node.desc().type == "cast" ||
                       (GetOp(node.desc().type).mixed_dtypes ? all_typed : one_typed);
    InferShapes(
        node.desc(), [&](const std::string& name) { return &known_[inputs.at(name)]->desc; },
        [&](const std::string& name, const Value& value, int levels) {
          auto known = std::make_unique<Known>();
          known->desc.name = name;
          Describe(value, &known->desc);
          if (!known->desc.type.lod_tensor) return;
          // Kernels that make sequences say so in the description alone.
          const Var* var = graph_.version(outputs.at(name)).var;
          known->desc.type.lod_tensor->lod_level = std::max(levels, var ? LevelOf(var->desc()) : 1);
          known->dims = DimsOf(known->desc.type.lod_tensor->tensor);
          known->sized = sized;
          known->typed = typed;
          known_[outputs.at(name)] = std::move(known);
        });
  } catch (const std::exception&) {  // it would raise in a run, too
    for (int v : node.outputs) known_[v].reset();
  }
}

void Facts::Work() {
  done_ = true;
  known_.resize(graph_.versions().size());
  for (size_t v = 0; v < known_.size(); ++v) {
    if (graph_.version(static_cast<int>(v)).number == 0) Begin(static_cast<int>(v));
  }
  for (size_t n = 0; n < graph_.nodes().size(); ++n) {
    if (!graph_.nodes()[n].removed) Infer(static_cast<int>(n));
  }
}

const Facts::Known* Facts::Find(int v) {
  if (!done_) Work();
  return static_cast<size_t>(v) < known_.size() ? known_[v].get() : nullptr;
}

DType Facts::dtype(int v) {
  const Known* known = Find(v);
  return known && known->typed ? ElementType(known->desc) : DType::kUnset;
}

bool Facts::HasNoLevels(int v) {
  const Known* known = Find(v);
  return known && LevelOf(known->desc) == 0;
}

const Dims* Facts::SizesOf(int v) {
  const Known* known = Find(v);
  return known && known->sized ? &known->dims : nullptr;
}

}  // namespace dygraph::program

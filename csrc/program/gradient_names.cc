#include "program/gradient_names.h"

namespace dygraph::program {

namespace {

// What the blocks of gradients know by the names it has around them.
void AddKnownInside(const GradientBlock& block, std::unordered_set<std::string>* names) {
  std::unordered_set<std::string> own;
  for (const auto& [name, like] : block.given) own.insert(name);
  for (const GradientBlock::Made& made : block.ops) {
    ForNames(made.op.outputs, [&](const std::string& name) {
      if (!block.outside.count(name)) own.insert(name);
    });
  }
  for (const GradientBlock::Made& made : block.ops) {
    ForNames(made.op.inputs, [&](const std::string& name) {
      if (!own.count(name)) names->insert(name);
    });
    if (made.block) AddKnownInside(*made.block, names);
  }
}

}  // namespace

void NameCompleteGradients(const Block& block, BackwardResult* result) {
  std::unordered_map<std::string, std::string> renamed;
  std::unordered_set<std::string> inside;
  for (const GradientBlock::Made& made : result->ops) {
    if (!made.block) continue;
    AddKnownInside(*made.block, &inside);
    if (made.op.type != "block_grad_grad") continue;
    const auto* arriving = made.op.FindAttr<std::vector<std::string>>("original_output_grad");
    inside.insert(arriving->begin(), arriving->end());
  }
  for (auto& [name, complete] : result->grads) {
    const std::string usual = GradName(name);
    const Var* var = block.FindRecursive(name);
    // Gradients of arrays are known by name inside the blocks, too.
    const bool array = var && var->desc().type.type == VarType::Type::LOD_TENSOR_ARRAY;
    const bool known = inside.count(usual) || inside.count(complete) ||
                       block.FindRecursive(usual) || block.FindRecursive(complete);
    if (complete == usual || array || known) continue;
    renamed[usual] = complete;
    renamed[complete] = usual;
    complete = usual;
  }
  if (renamed.empty()) return;
  for (GradientBlock::Made& made : result->ops) {
    for (auto* slots : {&made.op.inputs, &made.op.outputs}) {
      for (OpDesc::Var& slot : *slots) {
        for (std::string& argument : slot.arguments) {
          auto at = renamed.find(argument);
          if (at != renamed.end()) argument = at->second;
        }
      }
    }
  }
}

}  // namespace dygraph::program

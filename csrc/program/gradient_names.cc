#include "program/gradient_names.h"

namespace dygraph::program {

void NameCompleteGradients(const Block& block, BackwardResult* result) {
  std::unordered_map<std::string, std::string> renamed;
  for (auto& [name, complete] : result->grads) {
    const std::string usual = GradName(name);
    const Var* var = block.FindRecursive(name);
    // Gradients of arrays are known by name inside the blocks, too.
    const bool array = var && var->desc().type.type == VarType::Type::LOD_TENSOR_ARRAY;
    if (complete == usual || array || block.FindRecursive(usual) || block.FindRecursive(complete))
      continue;
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

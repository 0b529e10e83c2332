// Runs the backward pass over the tape.
#pragma once

#include <vector>

#include "tape/variable.h"

namespace dygraph {

// Gradients of `roots` with respect to every leaf are added to the leaves' grads. A null gradient
// stands for ones.
void Backward(Span<Variable* const> roots, Span<Variable* const> grads, bool retain_graph,
              bool create_graph);

// Gradients with respect to `inputs` only; leaves stay untouched. An input the outputs do not
// depend on gives null when `allow_unused`, else InvalidArgument. No gradient passes through
// `no_grad_vars`: they count as constants.
std::vector<Ref<Variable>> Grad(Span<Variable* const> outputs, Span<Variable* const> inputs,
                                Span<Variable* const> grad_outputs, bool retain_graph,
                                bool create_graph, bool allow_unused,
                                Span<Variable* const> no_grad_vars = {});

// What backward from `root` will keep alive: every kept tensor, newest call first.
struct KeptTensor {
  std::string op, slot;
  Dims dims;
  DType dtype;
  size_t bytes;       // 0 where only the shape is kept
  const void* block;  // identity of the storage: several entries may share one
};
std::vector<KeptTensor> KeptFor(Variable& root);
int64_t CountNodes(Variable& root);

}  // namespace dygraph

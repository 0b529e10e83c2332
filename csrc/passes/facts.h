// What is certain of the versions of a block, whatever a file declares: from what is fed, which the
// executor checks, by the shape rules of the operators.
#pragma once

#include <memory>
#include <vector>

#include "passes/graph.h"
#include "tensor/dims.h"

namespace dygraph::program {

class Facts {
 public:
  explicit Facts(const BlockGraph& graph) : graph_(graph) {}
  // A dense tensor of this element type; unset: not known.
  DType dtype(int version);
  // A tensor without levels of detail. Here what the program declares counts, too.
  bool HasNoLevels(int version);
  // Its sizes, -1 for an open one; null: not known. Weights count as of any type and size, since
  // the scope may hold others than the program declares.
  const Dims* SizesOf(int version);

 private:
  struct Known {
    VarDesc desc;
    Dims dims;
    bool sized = true, typed = true;  // no weight decides the sizes, the type
  };
  const Known* Find(int version);
  void Work();
  void Begin(int version);
  void Infer(int node);

  const BlockGraph& graph_;
  bool done_ = false;
  std::vector<std::unique_ptr<Known>> known_;  // by version
};

}  // namespace dygraph::program

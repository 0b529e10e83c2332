// Checks of a gradient operator of any order against the forward call at its root: X@GRAD@GRAD is
// like X, Out@GRAD like Out, in number, shape and type. The tape guarantees it; calls from
// elsewhere (by name from Python, from a program) are checked here, before a kernel runs.
#pragma once

#include <vector>

#include "op/call.h"

namespace dygraph {

class OpInfo;

struct GradientOf {
  const OpInfo* forward = nullptr;
  bool shape_follows = false;  // the root's shape rule can run: all its inputs are known
  std::vector<int> inputs;     // by the root's input slot: our input slot with its value, or -1
  std::vector<int> outputs;    // by the root's output slot: our input slot with its value, or -1
  std::vector<int> grads;      // by our input slot: whose shape, inputs before outputs, or -1
};

// Finds the slots by name.
GradientOf LinkGradient(const OpInfo& op, const OpInfo& forward);
// InvalidArgument or Type where something does not follow from the forward call.
void CheckGradientCall(const Call& call);

}  // namespace dygraph

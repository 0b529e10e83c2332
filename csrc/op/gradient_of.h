// What a gradient operator T_grad owes to its forward T: an incoming gradient Out@GRAD has the
// shape of Out. The tape guarantees it; calls that come from elsewhere (by name from Python, from a
// program file) are checked here, once for all operators.
#pragma once

#include <vector>

#include "op/call.h"

namespace dygraph {

class OpInfo;

struct GradientOf {
  const OpInfo* forward = nullptr;
  bool shape_follows = false;  // the forward's shape rule can be asked: all it reads is here
  std::vector<int> inputs;     // by the forward's input slot: our input slot, or -1
  std::vector<int> outputs;    // by the forward's output slot: our input slot with its value, or -1
  std::vector<int> grads;      // the same for its gradient
};

// Finds the slots by name.
GradientOf LinkGradient(const OpInfo& op, const OpInfo& forward);
// InvalidArgument where a shape does not follow from the forward call.
void CheckGradientCall(const Call& call);

}  // namespace dygraph

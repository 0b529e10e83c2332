// The backward pass of a described program: the gradient recipes that the tape plays, bound to
// names.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "program/program.h"

namespace dygraph::program {

std::string GradName(const std::string& name);  // x@GRAD

struct BackwardRequest {
  const Block& block;
  size_t count;  // how many of its operators are the forward pass
  std::vector<std::string> targets;
  std::vector<std::string> target_grads;    // as many; names of variables that hold them
  std::unordered_set<std::string> stopped;  // no gradient goes through them either
  // Only paths to these are differentiated; empty: all that needs a gradient.
  std::unordered_set<std::string> inputs;
  // Of these a gradient that is zero everywhere is made, as zeros; elsewhere nothing is.
  std::vector<std::string> with_zeros;
  // Zeros begin only at operators that are flat in an input, as in backward(); else also where an
  // operator's result that leads to the input has no gradient, as in grad().
  bool only_flat = false;
};

// The block of a gradient operator, which comes into a program with it.
struct GradientBlock {
  struct Made {
    OpDesc op;
    int forward;  // the operator of the forward pass it differentiates; -1: none
    std::shared_ptr<GradientBlock> block = nullptr;
  };
  int32_t forward_block = -1;
  std::vector<Made> ops;  // in the order to run
  // Variables of the block that no operator of it makes: a name, and whose shape it has.
  std::vector<std::pair<std::string, std::string>> given;
  std::unordered_set<std::string> outside;  // written by its operators, but declared around it

  void NoteCounters() {  // which a turn undoes in their place
    for (const Made& each : ops) {
      if (each.op.type == "increment")
        ForNames(each.op.outputs, [&](const std::string& name) { outside.insert(name); });
    }
  }
};

struct BackwardResult {
  std::vector<GradientBlock::Made> ops;                // in the order to run
  std::unordered_map<std::string, std::string> grads;  // variable -> its complete gradient
  // Operators of the program, and the variables that are to be their Output(GradSteps).
  std::vector<std::pair<OpRef, std::string>> keepers;
};

// Operators run newest first, and terms of one gradient are added by `sum` in order of arrival, as
// on the tape; so results have the same bits. PreconditionNotMet where an operator without a
// gradient stands in the way, or an operator needs a value that a later one overwrites.
BackwardResult MakeBackward(const BackwardRequest& request);

}  // namespace dygraph::program

// The backward pass of a described program: the gradient recipes that the tape plays, bound to
// names.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "program/desc.h"

namespace dygraph::program {

std::string GradName(const std::string& name);  // x@GRAD

struct BackwardRequest {
  std::vector<const OpDesc*> ops;  // the forward pass, in order
  std::vector<std::string> targets;
  std::vector<std::string> target_grads;  // as many; names of variables that hold them
  // True for a variable whose gradient may be computed: a floating type, not stopped.
  std::function<bool(const std::string&)> wants;
  std::function<bool(const std::string&)> taken;  // is there a variable of this name?
  // Nothing but what leads to these is differentiated; empty: all that wants a gradient.
  std::unordered_set<std::string> inputs;
  // Of these a gradient that is zero everywhere is made, as zeros; elsewhere nothing is.
  std::vector<std::string> with_zeros;
  // Zeros begin only at operators that are flat in an input, as in backward(); else also where an
  // operator's result that leads to the input has no gradient, as in grad().
  bool only_flat = false;
};

struct BackwardResult {
  struct Made {
    OpDesc op;
    int forward;  // the operator in `ops` it differentiates; -1: none
  };
  std::vector<Made> ops;                               // in the order to run
  std::unordered_map<std::string, std::string> grads;  // variable -> its complete gradient
};

// Operators play newest first, and terms of one gradient are added by `sum` in the order they come,
// as the tape does; so results have the same bits. PreconditionNotMet where an operator without a
// gradient stands in the way, or an operator needs a value that a later one overwrites.
BackwardResult MakeBackward(const BackwardRequest& request);

}  // namespace dygraph::program

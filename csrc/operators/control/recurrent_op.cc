#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kInputs = 0, kInitialStates = 1, kParameters = 2, kOutputs = 0, kStepScopes = 1;
constexpr int kAny = kTakesRows | kTakesArray | kTakesTable | kTakesSteps;

struct RecurrentAttrs {
  BlockIndex sub_block;
  bool has_states = true;
  std::vector<std::string> ex_states, states;
  bool reverse = false;
  bool is_train = true;
  std::vector<std::string> skip_eager_deletion_vars;
};

void DefineRecurrent(OpDef& op) {
  op.Comment(
        "Runs the operators of sub_block once for each element of the inputs' first axis. In "
        "step t the block sees inputs[t] under the name of the input, and the states of the "
        "step before under the names ex_states; outputs[t] is what it writes under the name "
        "of the output.")
      .Input(kInputs, "inputs", "[T, ...], split along the first axis", kDuplicable | kDispensable)
      .Input(kInitialStates, "initial_states", "the states before the first step",
             kDuplicable | kDispensable)
      .Input(kParameters, "parameters", "what the block reads besides",
             kDuplicable | kDispensable | kAny)
      .Output(kOutputs, "outputs", "[T, ...], the results of the steps", kDuplicable)
      .Output(kStepScopes, "step_scopes", "what the steps keep for the gradient", kDispensable)
      .Attr(&RecurrentAttrs::sub_block, "sub_block", "the block of a step")
      .Attr(&RecurrentAttrs::has_states, "has_states", "whether steps hand states on")
      .Attr(&RecurrentAttrs::ex_states, "ex_states", "what the block calls the states before it")
      .Attr(&RecurrentAttrs::states, "states", "what it calls those that it makes")
      .Attr(&RecurrentAttrs::reverse, "reverse", "from the last element to the first")
      .Attr(&RecurrentAttrs::is_train, "is_train", "False: nothing is kept for a gradient")
      .Attr(&RecurrentAttrs::skip_eager_deletion_vars, "skip_eager_deletion_vars",
            "accepted from other programs, without effect")
      .MixedDTypes()
      .RunsBlock(Control::kRecurrent)
      .NoGrad();
}

REGISTER_OPERATOR(recurrent, DefineRecurrent);

}  // namespace
}  // namespace dygraph

#include "operators/control/block_grad.h"

namespace dygraph {
namespace {

constexpr int kInputs = 0, kInitialStates = 1, kParameters = 2, kOutputs = 3, kOutputsGrad = 4,
              kStepScopes = 5, kBefore = 6, kStepsGrad = 7, kInputsGrad = 0, kInitialStatesGrad = 1,
              kParametersGrad = 2, kRestored = 3, kGradSteps = 4;

struct RecurrentGradAttrs {
  BlockIndex sub_block;
  bool has_states = true;
  std::vector<std::string> ex_states, states;
  bool reverse = false;
  bool is_train = true;
  std::vector<std::string> skip_eager_deletion_vars, original_output_grad, term_names, restored,
      kept;
  std::vector<int32_t> term_counts;
  std::vector<std::string> input_grads, state_grads;
};

void DefineRecurrentGrad(OpDef& op) {
  using block_grad::kAnyValue;
  op.Comment(
        "The gradient of recurrent: its block for each step that step_scopes kept, the last "
        "one first. Gradients of inputs lie behind each other as the inputs do, those of states "
        "go from step to step, those of parameters add up, term by term.")
      .Input(kInputs, "inputs", "as in the forward call", kDuplicable | kDispensable)
      .Input(kInitialStates, "initial_states", "as in the forward call", kDuplicable | kDispensable)
      .Input(kParameters, "parameters", "as in the forward call",
             kDuplicable | kDispensable | kAnyValue)
      .Input(kOutputs, "outputs", "as in the forward call", kDuplicable | kDispensable)
      .Input(kOutputsGrad, "outputs@GRAD", "gradients of the outputs", kDuplicable | kDispensable)
      .Input(kStepScopes, "step_scopes", "what the steps kept", kAnyValue)
      .Input(kBefore, "Before", "terms of gradients of parameters that come first",
             kDuplicable | kDispensable | kAnyValue)
      .Input(kStepsGrad, "step_scopes@GRAD", "second order: gradients of what the iterations kept",
             kDispensable | kAnyValue)
      .Output(kInputsGrad, "inputs@GRAD", "gradients of the inputs", kDuplicable | kDispensable)
      .Output(kInitialStatesGrad, "initial_states@GRAD", "gradients of the initial states",
              kDuplicable | kDispensable)
      .Output(kParametersGrad, "parameters@GRAD", "gradients of the parameters",
              kDuplicable | kDispensable | kUpdated)
      .Output(kRestored, "Restored", "variables as they were before the first step",
              kDuplicable | kDispensable | kAnyValue)
      .Output(kGradSteps, "GradSteps", "what the backward iterations keep for second order",
              kDispensable | kAnyValue)
      .Attr(&RecurrentGradAttrs::has_states, "has_states", "as in the forward call")
      .Attr(&RecurrentGradAttrs::ex_states, "ex_states", "as in the forward call")
      .Attr(&RecurrentGradAttrs::states, "states", "as in the forward call")
      .Attr(&RecurrentGradAttrs::reverse, "reverse", "as in the forward call")
      .Attr(&RecurrentGradAttrs::is_train, "is_train", "as in the forward call")
      .Attr(&RecurrentGradAttrs::input_grads, "input_grads",
            "what the block calls the gradient of each input")
      .Attr(&RecurrentGradAttrs::state_grads, "state_grads",
            "what it calls the gradient of each of ex_states");
  block_grad::AddAttrs<RecurrentGradAttrs>(op);
  op.MixedDTypes().RunsBlock(Control::kRecurrentGrad).NoGrad();
}

REGISTER_OPERATOR(recurrent_grad, DefineRecurrentGrad);

}  // namespace
}  // namespace dygraph

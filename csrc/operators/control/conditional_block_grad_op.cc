#include "operators/control/block_grad.h"

namespace dygraph {
namespace {

constexpr int kCond = 0, kOut = 1, kOutGrad = 2, kScope = 3, kInput = 4, kBefore = 5, kStepsGrad = 6,
              kInputGrad = 0, kRestored = 1, kGradSteps = 2;

struct ConditionalBlockGradAttrs {
  BlockIndex sub_block;
  bool is_scalar_condition = false;
  std::vector<std::string> skip_eager_deletion_vars, original_output_grad, term_names, restored,
      kept;
  std::vector<int32_t> term_counts;
};

void DefineConditionalBlockGrad(OpDef& op) {
  using block_grad::kAnyValue;
  op.Comment(
        "The gradient of conditional_block: its block, if the forward one ran. What the block "
        "did not take flows on to those who wrote it before.")
      .Input(kCond, "Cond", "as in the forward call", kDuplicable | kDispensable)
      .Input(kOut, "Out", "as in the forward call", kDuplicable | kDispensable | kAnyValue)
      .Input(kOutGrad, "Out@GRAD", "gradients of what the block wrote",
             kDuplicable | kDispensable | kAnyValue)
      .Input(kScope, "Scope", "what the run kept", kAnyValue)
      .Input(kInput, "Input", "as in the forward call", kDuplicable | kDispensable | kAnyValue)
      .Input(kBefore, "Before", "terms of gradients of Input that come first",
             kDuplicable | kDispensable | kAnyValue)
      .Input(kStepsGrad, "Scope@GRAD", "second order: gradients of what the iterations kept",
             kDispensable | kAnyValue)
      .Output(kInputGrad, "Input@GRAD", "gradients of Input", kDuplicable | kDispensable | kUpdated)
      .Output(kRestored, "Restored", "variables as they were before the block ran",
              kDuplicable | kDispensable | kAnyValue)
      .Output(kGradSteps, "GradSteps", "what the backward iterations keep for second order",
              kDispensable | kAnyValue)
      .Attr(&ConditionalBlockGradAttrs::is_scalar_condition, "is_scalar_condition",
            "as in the forward call");
  block_grad::AddAttrs<ConditionalBlockGradAttrs>(op);
  op.MixedDTypes().RunsBlock(Control::kConditionGrad).NoGrad();
}

REGISTER_OPERATOR(conditional_block_grad, DefineConditionalBlockGrad);

}  // namespace
}  // namespace dygraph

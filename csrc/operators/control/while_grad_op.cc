#include "operators/control/block_grad.h"

namespace dygraph {
namespace {

constexpr int kOut = 0, kOutGrad = 1, kStepScopes = 2, kX = 3, kBefore = 4, kStepsGrad = 5, kXGrad = 0,
              kRestored = 1, kGradSteps = 2;

struct WhileGradAttrs {
  BlockIndex sub_block;
  bool is_test = false;
  std::vector<std::string> skip_eager_deletion_vars, original_output_grad, term_names, restored,
      kept;
  std::vector<int32_t> term_counts;
};

void DefineWhileGrad(OpDef& op) {
  using block_grad::kAnyValue;
  op.Comment(
        "The gradient of while: its block for each iteration that StepScopes kept, the last one "
        "first. Gradients of what iterations pass on go from iteration to iteration; those of what "
        "they only read are added, term by term.")
      .Input(kOut, "Out", "as in the forward call", kDuplicable | kDispensable | kAnyValue)
      .Input(kOutGrad, "Out@GRAD", "gradients of what the loop wrote",
             kDuplicable | kDispensable | kAnyValue)
      .Input(kStepScopes, "StepScopes", "what the iterations kept", kAnyValue)
      .Input(kX, "X", "as in the forward call", kDuplicable | kAnyValue)
      .Input(kBefore, "Before", "terms of gradients of X that come first",
             kDuplicable | kDispensable | kAnyValue)
      .Input(kStepsGrad, "StepScopes@GRAD", "second order: gradients of what the iterations kept",
             kDispensable | kAnyValue)
      .Output(kXGrad, "X@GRAD", "gradients of X", kDuplicable | kDispensable | kUpdated)
      .Output(kRestored, "Restored", "variables as they were before the loop",
              kDuplicable | kDispensable | kAnyValue)
      .Output(kGradSteps, "GradSteps", "what the backward iterations keep for second order",
              kDispensable | kAnyValue)
      .Attr(&WhileGradAttrs::is_test, "is_test", "as in the forward call");
  block_grad::AddAttrs<WhileGradAttrs>(op);
  op.MixedDTypes().RunsBlock(Control::kWhileGrad).NoGrad();
}

REGISTER_OPERATOR(while_grad, DefineWhileGrad);

}  // namespace
}  // namespace dygraph

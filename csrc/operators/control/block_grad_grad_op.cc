#include "operators/control/block_grad.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOutGrad = 1, kBefore = 2, kStepScopes = 3, kGradSteps = 4, kStepsGrad = 5,
              kSlices = 6, kStackedGrad = 7, kRestoredGrad = 8, kXGrad = 0, kStepsGradOut = 1,
              kSlicesGrad = 2, kLastGrad = 3;

struct BlockGradGradAttrs {
  BlockIndex sub_block;
  bool reverse = false;
  std::vector<std::string> skip_eager_deletion_vars, original_output_grad, term_names, restored,
      kept, flow_names, slice_grads, stacked_grads, kept_terms, last;
  std::vector<int32_t> term_counts, kept_counts, kept_made_as;
};

void DefineBlockGradGrad(OpDef& op) {
  using block_grad::kAnyValue;
  using A = BlockGradGradAttrs;
  op.Comment(
        "The gradient of while_grad, conditional_block_grad or recurrent_grad: its block for each "
        "iteration that GradSteps kept, in the order of the forward iterations. Gradients of what "
        "the backward iterations passed on go from iteration to iteration; those of what they only "
        "read are added, term by term; those of what the forward iterations kept go to the "
        "gradient of the forward operator.")
      .Input(kX, "X", "what the backward iterations read", kDuplicable | kDispensable | kAnyValue)
      .Input(kOutGrad, "Out@GRAD", "gradients of what the backward iterations gave",
             kDuplicable | kDispensable | kAnyValue)
      .Input(kBefore, "Before", "terms of gradients of X that come first",
             kDuplicable | kDispensable | kAnyValue)
      .Input(kStepScopes, "StepScopes", "what the forward iterations kept", kAnyValue)
      .Input(kGradSteps, "GradSteps", "what the backward iterations kept", kAnyValue)
      .Input(kStepsGrad, "StepScopes@GRAD", "gradients of StepScopes that come first",
             kDispensable | kAnyValue)
      .Input(kSlices, "Slices", "what backward iterations sliced", kDuplicable | kDispensable)
      .Input(kStackedGrad, "Stacked@GRAD", "gradients of what they put together",
             kDuplicable | kDispensable)
      .Input(kRestoredGrad, "Restored@GRAD", "gradients of variables before the first iteration",
             kDuplicable | kDispensable)
      .Output(kXGrad, "X@GRAD", "gradients of X", kDuplicable | kDispensable | kUpdated)
      .Output(kStepsGradOut, "StepScopes@GRAD", "gradients of what the forward iterations kept",
              kDispensable | kAnyValue)
      .Output(kSlicesGrad, "Slices@GRAD", "gradients of Slices", kDuplicable | kDispensable)
      .Output(kLastGrad, "Last@GRAD", "gradients of what the last forward iteration left",
              kDuplicable | kDispensable)
      .Attr(&A::reverse, "reverse", "whether slices are taken from the last one on")
      .Attr(&A::flow_names, "flow_names",
            "the block's name of a gradient that iterations pass on; empty: it is added")
      .Attr(&A::slice_grads, "slice_grads", "what the block calls each of Slices@GRAD")
      .Attr(&A::stacked_grads, "stacked_grads", "what the block calls each of Stacked@GRAD")
      .Attr(&A::kept_terms, "kept_terms", "what the block calls the terms of gradients of kept")
      .Attr(&A::kept_counts, "kept_counts", "how many terms each of these has")
      .Attr(&A::kept_made_as, "kept_made_as",
            "which of kept is the same value one iteration before; -1: none")
      .Attr(&A::last, "last", "the variables whose gradients Last@GRAD holds");
  block_grad::AddAttrs<A>(op);
  op.MixedDTypes().RunsBlock(Control::kSecondGrad).NoGrad();
}

REGISTER_OPERATOR(block_grad_grad, DefineBlockGradGrad);

}  // namespace
}  // namespace dygraph

#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kCond = 0, kInput = 1, kOut = 0, kScope = 1;
constexpr int kAny = kTakesRows | kTakesArray | kTakesTable | kTakesSteps;

struct ConditionalBlockAttrs {
  BlockIndex sub_block;
  bool is_scalar_condition = false;
  std::vector<std::string> skip_eager_deletion_vars;
};

void Define(OpDef& op, const char* comment) {
  op.Comment(comment)
      .Input(kCond, "Cond",
             "one bool; where is_scalar_condition is false, tensors whose rows are "
             "looked at",
             kDuplicable)
      .Input(kInput, "Input", "what the block reads of the blocks around it",
             kDuplicable | kDispensable | kAny)
      .Output(kOut, "Out", "what the block writes of the blocks around it",
              kDuplicable | kDispensable | kUpdated)
      .Output(kScope, "Scope", "what the run keeps for the gradient", kDispensable)
      .Attr(&ConditionalBlockAttrs::sub_block, "sub_block", "the block")
      .Attr(&ConditionalBlockAttrs::is_scalar_condition, "is_scalar_condition",
            "True: Cond decides; False: it runs if each Cond has rows")
      .Attr(&ConditionalBlockAttrs::skip_eager_deletion_vars, "skip_eager_deletion_vars",
            "accepted from other programs, without effect")
      .MixedDTypes()
      .RunsBlock(Control::kCondition)
      .NoGrad();
}

void DefineConditionalBlock(OpDef& op) {
  Define(op,
         "Runs the operators of sub_block once if the condition holds. A choice of a program: "
         "Python has its own.");
}

void DefineConditionalBlockInfer(OpDef& op) {
  Define(op, "conditional_block without a gradient: nothing is kept.");
}

REGISTER_OPERATOR(conditional_block, DefineConditionalBlock);
REGISTER_OPERATOR(conditional_block_infer, DefineConditionalBlockInfer);

}  // namespace
}  // namespace dygraph

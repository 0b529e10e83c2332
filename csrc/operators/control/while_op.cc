#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kCondition = 1, kOut = 0, kStepScopes = 1;
constexpr int kAny = kTakesRows | kTakesArray | kTakesTable | kTakesSteps;

struct WhileAttrs {
  BlockIndex sub_block;
  bool is_test = false;
  std::vector<std::string> skip_eager_deletion_vars;
};

void DefineWhile(OpDef& op) {
  op.Comment(
        "Runs the operators of sub_block while Condition is true; they write Condition in each "
        "iteration. For loops of programs; eager code uses Python's while.")
      .Input(kX, "X", "what the block reads of the blocks around it",
             kDuplicable | kDispensable | kAny)
      .Input(kCondition, "Condition", "one bool")
      .Output(kOut, "Out", "what the block writes of the blocks around it",
              kDuplicable | kDispensable | kUpdated)
      .Output(kStepScopes, "StepScopes", "what the iterations keep for the gradient", kDispensable)
      .Attr(&WhileAttrs::sub_block, "sub_block", "the block of an iteration")
      .Attr(&WhileAttrs::is_test, "is_test", "True: no gradient is wanted, nothing is kept")
      .Attr(&WhileAttrs::skip_eager_deletion_vars, "skip_eager_deletion_vars",
            "accepted from other programs, without effect")
      .MixedDTypes()
      .RunsBlock(Control::kWhile)
      .NoGrad();
}

REGISTER_OPERATOR(while, DefineWhile);

}  // namespace
}  // namespace dygraph

#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

struct MissingGradFormulaAttrs {
  std::string reason = "no formula for it is here";
};

// Stands in recipes for a gradient that is not made, so that asking for it is an error and not a
// zero.
void DefineMissingGradFormula(OpDef& op) {
  op.Comment("Raises with a reason: an operator's recipe where a gradient is not made.")
      .Input(kX, "X", "what arrives")
      .Output(kOut, "Out", "never made")
      .Attr(&MissingGradFormulaAttrs::reason, "reason", "the message")
      .Shape([](InferContext& ctx) {
        THROW(Unimplemented,
              "this gradient cannot be computed: ", ctx.attrs<MissingGradFormulaAttrs>().reason);
      })
      .NoGrad();
}

template <class>
struct MissingGradFormulaKernel {
  static void Compute(KernelContext&) {}
};

REGISTER_OPERATOR(missing_grad_formula, DefineMissingGradFormula);
REGISTER_CPU_KERNEL(missing_grad_formula, MissingGradFormulaKernel, float, double);

}  // namespace
}  // namespace dygraph

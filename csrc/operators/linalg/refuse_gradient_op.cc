#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

struct RefuseGradientAttrs {
  std::string reason = "no formula for it is here";
};

// Stands in recipes for a gradient that is not made, so that asking for it is an error and not a
// zero.
void DefineRefuseGradient(OpDef& op) {
  op.Comment("Raises with a reason: an operator's recipe where a gradient is not made.")
      .Input(kX, "X", "what arrives")
      .Output(kOut, "Out", "never made")
      .Attr(&RefuseGradientAttrs::reason, "reason", "the message")
      .Shape([](InferContext& ctx) {
        THROW(Unimplemented,
              "this gradient cannot be computed: ", ctx.attrs<RefuseGradientAttrs>().reason);
      })
      .NoGrad();
}

template <class>
struct RefuseGradientKernel {
  static void Compute(KernelContext&) {}
};

REGISTER_OPERATOR(refuse_gradient, DefineRefuseGradient);
REGISTER_CPU_KERNEL(refuse_gradient, RefuseGradientKernel, float, double);

}  // namespace
}  // namespace dygraph

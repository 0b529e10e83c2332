#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

// Stands in recipes where a gradient is not made, so that asking for it is an error and not a zero.
void DefineThirdGradLimit(OpDef& op) {
  op.Comment("Raises: operators whose third gradient is the last that is made.")
      .Input(kX, "X", "what arrives", kDuplicable)
      .Output(kOut, "Out", "never made")
      .Shape([](InferContext&) {
        THROW(Unimplemented,
              "the fourth derivative of this operator is not made, only the first three. Use "
              "ordinary operators for higher ones");
      })
      .NoGrad();
}

template <class>
struct ThirdGradLimitKernel {
  static void Compute(KernelContext&) {}
};

REGISTER_OPERATOR(third_grad_limit, DefineThirdGradLimit);
REGISTER_CPU_KERNEL(third_grad_limit, ThirdGradLimitKernel, float, double);

}  // namespace
}  // namespace dygraph

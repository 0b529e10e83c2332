#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

// Stands in recipes where a gradient is not made, so that asking for it is an error and not a zero.
void DefineRecurrentGradLimit(OpDef& op) {
  op.Comment("Raises: the recurrent operators and attention have two orders of gradients.")
      .Input(kX, "X", "what arrives", kDuplicable)
      .Output(kOut, "Out", "never made")
      .Shape([](InferContext&) {
        THROW(Unimplemented,
              "the third derivative of lstm, gru, gru_unit, lstm_unit, rnn and "
              "scaled_dot_product_attention is not made, only the "
              "first two. Write the cell with ordinary operators for higher ones");
      })
      .NoGrad();
}

template <class>
struct RecurrentGradLimitKernel {
  static void Compute(KernelContext&) {}
};

REGISTER_OPERATOR(recurrent_grad_limit, DefineRecurrentGradLimit);
REGISTER_CPU_KERNEL(recurrent_grad_limit, RecurrentGradLimitKernel, float, double);

}  // namespace
}  // namespace dygraph

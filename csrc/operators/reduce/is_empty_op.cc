#include "kernels/elementwise.h"
#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

void DefineIsEmpty(OpDef& op) {
  op.Comment("Out = True where X has no elements.")
      .Example(
          ">>> x = to_variable(np.zeros((2, 3)))\n"
          ">>> F.is_empty(x).item(), F.is_empty(x[:0]).item()\n"
          "(False, True)")
      .Input(kX, "X", "any shape")
      .Output(kOut, "Out", "[], bool")
      .Shape([](InferContext& ctx) { ctx.SetOutput(kOut, Dims(), DType::kBool); })
      .KeepsLayout()
      .NoGrad();
}

template <class T>
struct IsEmptyKernel {
  static void Compute(KernelContext& ctx) {
    kernels::Fill(ctx.Out(kOut).mutable_data<bool>(), 1, ctx.In(kX).numel() == 0);
  }
};

REGISTER_OPERATOR(is_empty, DefineIsEmpty);
REGISTER_KERNELS(is_empty, IsEmptyKernel, AllTypes);

}  // namespace
}  // namespace dygraph

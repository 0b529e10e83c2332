#include "operators/arithmetic/bitwise.h"

namespace dygraph::bitwise {
namespace {

void DefineNot(OpDef& op) {
  op.Comment("Out = ~X, all bits turned, elementwise; of bool: not X.")
      .Example(
          ">>> F.bitwise_not(to_variable([0, 5])).tolist()\n"
          "[-1, -6]")
      .Input(kX, "X", "any shape, of integers or bool")
      .Output(kOut, "Out", "shape of X")
      .SameShape(kX, kOut)
      .ShareLoD(kX)
      .KeepsLayout()
      .NoGrad();
}

template <class T>
struct NotKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    kernels::Map(x.data<T>(), ctx.Out(kOut).mutable_data<T>(), x.numel(), [] DYGRAPH_FN(T v) {
      if constexpr (std::is_same_v<T, bool>) {
        return !v;
      } else {
        return static_cast<T>(~v);
      }
    });
  }
};

REGISTER_OPERATOR(bitwise_not, DefineNot);
REGISTER_KERNELS(bitwise_not, NotKernel, bool, uint8_t, int8_t, int16_t, int32_t, int64_t);

}  // namespace
}  // namespace dygraph::bitwise

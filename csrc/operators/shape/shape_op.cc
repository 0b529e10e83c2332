#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kInput = 0, kOut = 0;

void DefineShape(OpDef& op) {
  op.Comment("Out = the sizes of Input's axes.")
      .Example(
          ">>> F.shape(to_variable(np.zeros((2, 3)))).tolist()\n"
          "[2, 3]")
      .Input(kInput, "Input", "any shape")
      .Output(kOut, "Out", "[rank of Input], int32")
      .Shape([](InferContext& ctx) { ctx.SetOutput(kOut, {ctx.rank(kInput)}, DType::kInt32); })
      .NoGrad();
}

template <class>
struct ShapeKernel {
  static void Compute(KernelContext& ctx) {
    const Dims& dims = ctx.InValue(kInput).dims();
    SmallVector<int32_t, 8> sizes;
    for (int64_t n : dims) {
      ENFORCE(n <= INT32_MAX, OutOfRange, "the sizes of Input must fit into int32, got ", dims);
      sizes.push_back(static_cast<int32_t>(n));
    }
    ctx.device().CopyFromHost(ctx.Out(kOut).mutable_raw_data(), sizes.data(),
                              sizes.size() * sizeof(int32_t));
  }
};

REGISTER_OPERATOR(shape, DefineShape);
REGISTER_KERNELS(shape, ShapeKernel, AllTypes);

}  // namespace
}  // namespace dygraph

#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kInput = 0, kOut = 0;

void DefineSize(OpDef& op) {
  op.Comment("Out = the number of Input's elements.")
      .Example(
          ">>> F.size(to_variable(np.zeros((2, 3)))).item()\n"
          "6")
      .Input(kInput, "Input", "any shape")
      .Output(kOut, "Out", "[], int64")
      .Shape([](InferContext& ctx) { ctx.SetOutput(kOut, Dims(), DType::kInt64); })
      .NoGrad();
}

template <class>
struct SizeKernel {
  static void Compute(KernelContext& ctx) {
    const int64_t count = Numel(ctx.InValue(kInput).dims());
    ctx.device().CopyFromHost(ctx.Out(kOut).mutable_raw_data(), &count, sizeof(count));
  }
};

REGISTER_OPERATOR(size, DefineSize);
REGISTER_KERNELS(size, SizeKernel, AllTypes);

}  // namespace
}  // namespace dygraph

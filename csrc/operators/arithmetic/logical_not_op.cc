#include "op/pointwise.h"
#include "operators/arithmetic/logical.h"

namespace dygraph::logical {
namespace {

void DefineNot(OpDef& op) {
  op.Comment("Out = True where X is not true, elementwise.")
      .Example(
          ">>> F.logical_not(to_variable([True, False])).tolist()\n"
          "[False, True]")
      .Input(kX, "X", "any shape and type; numbers are true where they are not 0")
      .Output(kOut, "Out", "shape of X, bool")
      .ShareLoD(kX)
      .Shape([](InferContext& ctx) { ctx.SetOutput(kOut, ctx.dims(kX), DType::kBool); })
      .KeepsLayout()
      .NoGrad();
}

template <class T>
struct LogicalNotKernel {
  static void Compute(KernelContext& ctx) {
    Tensor x = AsBool(ctx.In(kX));
    kernels::Map(x.data<bool>(), ctx.Out(kOut).mutable_data<bool>(), x.numel(),
                 [] DYGRAPH_FN(bool v) { return !v; });
  }
};

REGISTER_OPERATOR(logical_not, DefineNot);
REGISTER_POINTWISE(logical_not);
REGISTER_KERNELS(logical_not, LogicalNotKernel, bool, uint8_t, int8_t, int16_t, int32_t, int64_t,
                 float16, bfloat16, float, double);

}  // namespace
}  // namespace dygraph::logical

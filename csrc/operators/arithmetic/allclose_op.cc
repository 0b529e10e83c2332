#include "operators/arithmetic/closeness.h"

namespace dygraph::elementwise {
namespace {

void DefineAllclose(OpDef& op) {
  op.Comment(
      "Out = True where |Input - Other| <= atol + rtol * |Other| holds for all elements. Shapes "
      "broadcast as NumPy's.");
  closeness::Define(op).Output(kOut, "Out", "[], bool").Shape([](InferContext& ctx) {
    closeness::Check(ctx);
    ctx.SetOutput(kOut, Dims(), DType::kBool);
  });
}

template <class T>
struct AllcloseKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &y = ctx.In(kY);
    Tensor close(BroadcastDims(x.dims(), y.dims()), DType::kBool, x.place());
    closeness::Compare<T>(ctx, &close);
    const bool* ok = close.data<bool>();
    bool all = true;
    for (int64_t i = 0; i < close.numel(); ++i) all &= ok[i];
    *ctx.Out(kOut).mutable_data<bool>() = all;
  }
};

REGISTER_OPERATOR(allclose, DefineAllclose);
REGISTER_CPU_KERNEL(allclose, AllcloseKernel, float, double, int32_t, int64_t);

}  // namespace
}  // namespace dygraph::elementwise

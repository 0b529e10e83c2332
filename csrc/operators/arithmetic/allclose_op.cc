#include "kernels/reduce.h"
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
    const int64_t n = close.numel();
    const bool whole = true;
    kernels::Reduce<kernels::AllOp<bool>>(close.data<bool>(), {&n, 1}, {&whole, 1},
                                          ctx.Out(kOut).mutable_data<bool>());
  }
};

REGISTER_OPERATOR(allclose, DefineAllclose);
REGISTER_KERNELS(allclose, AllcloseKernel, float, double, int32_t, int64_t);

}  // namespace
}  // namespace dygraph::elementwise

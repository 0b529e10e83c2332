#include "op/gradient_call.h"
#include "op/lod_rule.h"
#include "operators/reduce/reduction.h"

namespace dygraph::reduce {
namespace {

void InferSumShape(InferContext& ctx) {
  const ReduceAttrs& a = ctx.attrs<ReduceAttrs>();
  bool count = a.out_dtype == DType::kUnset && ctx.dtype(kX) == DType::kBool;
  ctx.SetOutput(kOut, OutDims(ctx), count ? DType::kInt64 : a.out_dtype);
}

void DefineSum(OpDef& op) {
  DefineReduce(
      op, "Out = the sum of X over the axes of dim. bool is summed as int64. An empty sum is 0.")
      .Shape(InferSumShape)
      .Grad(CallGradient);
}

template <class T>
struct SumKernel {
  static void Compute(KernelContext& ctx) { reduce::ComputeSums<kernels::SumOp>(ctx); }
};

namespace grad {
constexpr int kX = 0, kOutGrad = 1, kXGrad = 0;

void DefineSumGrad(OpDef& op) {
  op.Comment("X@GRAD = Out@GRAD, repeated along the reduced axes.")
      .Input(kX, "X", "its shape and type", kShapeOnly)
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf("reduce_sum")
      .SameShape(kX, kXGrad)
      .MixedDTypes()
      .Grad([](GradBuilder& g) {
        g.Call("reduce_sum", {g.OutputGrad(kXGrad)}, {g.InputGrad(kOutGrad)}).SameAttrs();
      });
}

template <class T>
struct SumGradKernel {
  static void Compute(KernelContext& ctx) {
    Tensor& out = ctx.Out(kXGrad);
    const ReduceAttrs& a = ctx.attrs<ReduceAttrs>();
    Spread<T>(CastTo(ctx.In(kOutGrad), out.dtype()), a, &out,
              [] DYGRAPH_FN(kernels::Wide<T> v) { return v; });
  }
};
}  // namespace grad

REGISTER_OPERATOR(reduce_sum, DefineSum);
REGISTER_OPEN_ATTRS(reduce_sum, "dim");
REGISTER_LOD_RULE(reduce_sum, KeepsRows);
REGISTER_KERNELS(reduce_sum, SumKernel, AllTypes);
REGISTER_OPERATOR(reduce_sum_grad, grad::DefineSumGrad);
REGISTER_KERNELS(reduce_sum_grad, grad::SumGradKernel, float, double, complex64, complex128);
REGISTER_DEVICE_TYPES(reduce_sum_grad, grad::SumGradKernel, float16, bfloat16);

}  // namespace
}  // namespace dygraph::reduce

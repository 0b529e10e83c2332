#include "op/gradient_call.h"
#include "op/lod_rule.h"
#include "operators/reduce/reduction.h"

namespace dygraph::reduce {
namespace {

void DefineMean(OpDef& op) {
  DefineReduce(op,
               "Out = the mean of X over the axes of dim, of integers rounded towards zero. The "
               "mean of nothing is NaN.")
      .Grad(CallGradient);
}

template <class T>
struct ReduceMeanKernel {
  static void Compute(KernelContext& ctx) { reduce::ComputeSums<kernels::MeanOp>(ctx); }
};

namespace grad {
constexpr int kX = 0, kOutGrad = 1, kXGrad = 0;

void DefineMeanGrad(OpDef& op) {
  op.Comment("X@GRAD = Out@GRAD / (elements of X for one of Out), repeated along the reduced axes.")
      .Input(kX, "X", "its shape and type", kShapeOnly)
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf("reduce_mean")
      .SameShape(kX, kXGrad)
      .MixedDTypes()
      .Grad([](GradBuilder& g) {
        g.Call("reduce_mean", {g.OutputGrad(kXGrad)}, {g.InputGrad(kOutGrad)}).SameAttrs();
      });
}

template <class T>
struct ReduceMeanGradKernel {
  static void Compute(KernelContext& ctx) {
    Tensor& out = ctx.Out(kXGrad);
    const ReduceAttrs& a = ctx.attrs<ReduceAttrs>();
    using W = kernels::Wide<T>;
    auto count = static_cast<kernels::RealPart<W>>(CountOf(out, Axes(out.rank(), a)));
    Spread<T>(CastTo(ctx.In(kOutGrad), out.dtype()), a, &out,
              [count] DYGRAPH_FN(W v) { return v / count; });
  }
};
}  // namespace grad

REGISTER_OPERATOR(reduce_mean, DefineMean);
REGISTER_OPEN_ATTRS(reduce_mean, "dim");
REGISTER_LOD_RULE(reduce_mean, KeepsRows);
REGISTER_KERNELS(reduce_mean, ReduceMeanKernel, float, double, int32_t, int64_t, complex64,
                 complex128);
REGISTER_DEVICE_TYPES(reduce_mean, ReduceMeanKernel, float16, bfloat16);
REGISTER_OPERATOR(reduce_mean_grad, grad::DefineMeanGrad);
REGISTER_KERNELS(reduce_mean_grad, grad::ReduceMeanGradKernel, float, double, complex64,
                 complex128);
REGISTER_DEVICE_TYPES(reduce_mean_grad, grad::ReduceMeanGradKernel, float16, bfloat16);

}  // namespace
}  // namespace dygraph::reduce

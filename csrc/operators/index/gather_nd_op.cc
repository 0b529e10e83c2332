#include "op/gradient_call.h"
#include "op/lod_rule.h"
#include "operators/index/gather_nd.h"

namespace dygraph::gather_nd {
namespace {

constexpr int kX = 0, kIndex = 1, kOut = 0;

void InferShape(InferContext& ctx) {
  ctx.SetOutput(kOut, TakenDims(ctx.dims(kX), ctx.dims(kIndex)), ctx.dtype(kX));
}

void DefineGatherNd(OpDef& op) {
  op.Comment(
        "Out[i...] = X[Index[i..., 0], ..., Index[i..., k - 1]]: k numbers address a slice of "
        "the first k axes of X. Gradients of a slice taken more than once add up.")
      .Example(
          ">>> x = to_variable([[1, 2], [3, 4]])\n"
          ">>> F.gather_nd(x, to_variable([[0, 1], [1, 0]])).tolist()\n"
          "[2, 3]")
      .Input(kX, "X", "at least k axes")
      .Input(kIndex, "Index", "[..., k], int32 or int64; negative ones count from the end")
      .Output(kOut, "Out", "the leading axes of Index and the axes of X after the first k")
      .ShareLoD(kIndex)
      .Shape(InferShape)
      .KernelDTypeOf(kX)
      .MixedDTypes()
      .Grad(CallGradient);
}

template <class T>
struct GatherNdKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &index = ctx.In(kIndex);
    IndexList list = FlatIndices(ctx, kIndex, x.dims(), "X");
    kernels::TakeRows(RowsOf(x.dims(), index.dims()), x.raw_data(), list.data, list.size,
                      ctx.Out(kOut).mutable_raw_data(), SizeOf(x.dtype()));
  }
};

namespace grad {
constexpr int kX = 0, kIndex = 1, kOutGrad = 2, kXGrad = 0;

void InferGradShape(InferContext& ctx) {
  TakenDims(ctx.dims(kX), ctx.dims(kIndex));
  ctx.SetOutput(kXGrad, ctx.dims(kX), ctx.dtype(kX));
}

void DefineGatherNdGrad(OpDef& op) {
  op.Comment("X@GRAD = 0, and then X@GRAD[Index[i...]] += Out@GRAD[i...], in order.")
      .Input(kX, "X", "its shape", kShapeOnly)
      .Input(kIndex, "Index", "[..., k]")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .Shape(InferGradShape)
      .KernelDTypeOf(kOutGrad)
      .MixedDTypes()
      .Grad([](GradBuilder& g) {
        g.Call("gather_nd", {g.OutputGrad(kXGrad), g.Input(kIndex)}, {g.InputGrad(kOutGrad)});
      });
}

template <class T>
struct GatherNdGradKernel {
  static void Compute(KernelContext& ctx) {
    const Dims& x = ctx.In(kX).dims();
    const Tensor &index = ctx.In(kIndex), &g = ctx.In(kOutGrad);
    RequireTaken(g.dims(), "Out@GRAD", x, index.dims());
    IndexList list = FlatIndices(ctx, kIndex, x, "X");
    Tensor& out = ctx.Out(kXGrad);
    Clear(&out);
    kernels::AddRows(RowsOf(x, index.dims()), out.mutable_data<T>(), list.data, list.size,
                     g.data<T>());
  }
};
}  // namespace grad

REGISTER_OPERATOR(gather_nd, DefineGatherNd);
REGISTER_LOD_RULE(gather_nd, [](const LoDCall& c) { return c.from.rank() > 1; });
REGISTER_KERNELS(gather_nd, GatherNdKernel, AllTypes);
REGISTER_OPERATOR(gather_nd_grad, grad::DefineGatherNdGrad);
REGISTER_KERNELS(gather_nd_grad, grad::GatherNdGradKernel, float, double, complex64, complex128);
REGISTER_DEVICE_TYPES(gather_nd_grad, grad::GatherNdGradKernel, float16, bfloat16);

}  // namespace
}  // namespace dygraph::gather_nd

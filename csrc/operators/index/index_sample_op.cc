#include "op/gradient_call.h"
#include "op/lod_rule.h"
#include "operators/index/along_axis.h"

namespace dygraph::indexing {
namespace {

constexpr int kX = 0, kIndex = 1, kOut = 0;

void InferShape(InferContext& ctx) {
  const Dims &x = ctx.dims(kX), &index = ctx.dims(kIndex);
  ENFORCE(x.rank() == 2 && index.rank() == 2, InvalidArgument,
          "X and Index must be matrices, got shapes ", x, " and ", index);
  ENFORCE(x[0] == index[0] || !BothKnown(x[0], index[0]), InvalidArgument,
          "X and Index must have equally many rows, got shapes ", x, " and ", index);
  ctx.SetOutput(kOut, index, ctx.dtype(kX));
}

void DefineIndexSample(OpDef& op) {
  op.Comment(
        "Out[i, j] = X[i, Index[i, j]]: from each row its own elements. Gradients of an "
        "element taken more than once add up.")
      .Example(
          ">>> x = to_variable([[1, 2, 3], [4, 5, 6]])\n"
          ">>> F.index_sample(x, to_variable([[2, 0], [1, 1]])).tolist()\n"
          "[[3, 1], [5, 5]]")
      .Input(kX, "X", "[rows, n]")
      .Input(kIndex, "Index", "[rows, m], int32 or int64; negative ones count from the end")
      .Output(kOut, "Out", "shape of Index")
      .ShareLoD(kX)
      .Shape(InferShape)
      .KernelDTypeOf(kX)
      .MixedDTypes()
      .Grad(CallGradient);
}

template <class T>
struct IndexSampleKernel {
  static void Compute(KernelContext& ctx) { TakeAlong(ctx, kX, kIndex, 1, &ctx.Out(kOut)); }
};

namespace grad {
constexpr int kX = 0, kIndex = 1, kOutGrad = 2, kXGrad = 0;

void InferGradShape(InferContext& ctx) {
  const Dims& x = ctx.dims(kX);
  ENFORCE(x.rank() == 2, InvalidArgument, "X must be a matrix [rows, n], got shape ", x);
  ctx.SetOutput(kXGrad, x, ctx.dtype(kX));
}

void DefineIndexSampleGrad(OpDef& op) {
  op.Comment("X@GRAD = 0, and then X@GRAD[i, Index[i, j]] += Out@GRAD[i, j], in order.")
      .Input(kX, "X", "its shape", kShapeOnly)
      .Input(kIndex, "Index", "[rows, m]")
      .Input(kOutGrad, "Out@GRAD", "shape of Index")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .Shape(InferGradShape)
      .KernelDTypeOf(kOutGrad)
      .MixedDTypes()
      .Grad([](GradBuilder& g) {
        g.Call("index_sample", {g.OutputGrad(kXGrad), g.Input(kIndex)}, {g.InputGrad(kOutGrad)});
      });
}

template <class T>
struct IndexSampleGradKernel {
  static void Compute(KernelContext& ctx) {
    AddAlong<T>(ctx, kX, kIndex, kOutGrad, 1, &ctx.Out(kXGrad));
  }
};
}  // namespace grad

REGISTER_OPERATOR(index_sample, DefineIndexSample);
REGISTER_LOD_ALSO(index_sample, kIndex);
REGISTER_KERNELS(index_sample, IndexSampleKernel, AllTypes);
REGISTER_OPERATOR(index_sample_grad, grad::DefineIndexSampleGrad);
REGISTER_KERNELS(index_sample_grad, grad::IndexSampleGradKernel, float, double, complex64,
                 complex128);

}  // namespace
}  // namespace dygraph::indexing

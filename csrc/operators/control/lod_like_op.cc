#include "operators/control/ranked.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kY = 1, kOut = 0;

void DefineLodLike(OpDef& op) {
  op.Comment("Out = X with the levels of detail of Y, none where Y has none. They share storage.")
      .Example(
          ">>> x = to_variable([[1.0], [2.0], [3.0]], lod=[[0, 1, 3]])\n"
          ">>> F.lod_like(to_variable([[7.0], [8.0], [9.0]]), x).lod()\n"
          "[[0, 1, 3]]")
      .Input(kX, "X", "any shape")
      .Input(kY, "Y", "its LoD; where it has one, X has as many rows", kShapeOnly)
      .Output(kOut, "Out", "shape of X")
      .Shape([](InferContext& ctx) { ctx.SetOutput(kOut, ctx.dims(kX), ctx.dtype(kX)); })
      .KernelDTypeOf(kX)
      .MixedDTypes()
      .KernelAllocates()
      .ShareLoD(kY)
      .MayShare(kX, kOut)
      .Grad([](GradBuilder& g) {
        g.Call("lod_like", {g.OutputGrad(kOut), g.InputShape(kX)}, {g.InputGrad(kX)});
      });
}

template <class T>
struct LodLikeKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &y = ctx.In(kY);
    ENFORCE(!y.lod() || (x.rank() > 0 && x.dim(0) == y.lod_levels().back().back()), InvalidArgument,
            "X must have as many rows as the LoD of Y says, ", ranked::TextOf(y.lod_levels()),
            ", got shape ", x.dims());
    Tensor& out = ctx.Out(kOut);
    out.ShareData(x);
    out.SetLoD(y.lod_ref());
  }
};

REGISTER_OPERATOR(lod_like, DefineLodLike);
REGISTER_MOVING_KERNEL(lod_like, LodLikeKernel);

}  // namespace
}  // namespace dygraph

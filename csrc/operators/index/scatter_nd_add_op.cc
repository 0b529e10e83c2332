#include "operators/index/gather_nd.h"

namespace dygraph::gather_nd {
namespace {

constexpr int kX = 0, kIndex = 1, kUpdates = 2, kOut = 0;

void InferShape(InferContext& ctx) {
  RequireTaken(ctx.dims(kUpdates), "Updates", ctx.dims(kX), ctx.dims(kIndex));
  ENFORCE(ctx.dtype(kUpdates) == ctx.dtype(kX), Type, "Updates must be of the type of X, ",
          ctx.dtype(kX), ", got ", ctx.dtype(kUpdates), ". Convert with astype()");
  ctx.SetOutput(kOut, ctx.dims(kX), ctx.dtype(kX));
}

void DefineScatterNdAdd(OpDef& op) {
  op.Comment(
        "Out = X, and then Out[Index[i..., 0], ..., Index[i..., k - 1]] += Updates[i...], in "
        "order; slices that repeat add up.")
      .Example(
          ">>> x, index = to_variable([1.0, 2.0, 3.0]), to_variable([[0], [2], [0]])\n"
          ">>> F.scatter_nd_add(x, index, to_variable([10.0, 20.0, 30.0])).tolist()\n"
          "[41.0, 2.0, 23.0]")
      .Input(kX, "X", "at least k axes")
      .Input(kIndex, "Index", "[..., k], int32 or int64; negative ones count from the end")
      .Input(kUpdates, "Updates", "the leading axes of Index and the axes of X after the first k")
      .Output(kOut, "Out", "shape of X")
      .ShareLoD(kX)
      .Shape(InferShape)
      .KernelDTypeOf(kX)
      .MixedDTypes()
      .Grad([](GradBuilder& g) {
        g.Call("assign", {g.OutputGrad(kOut)}, {g.InputGrad(kX)});
        g.Call("gather_nd", {g.OutputGrad(kOut), g.Input(kIndex)}, {g.InputGrad(kUpdates)});
      });
}

template <class T>
struct ScatterNdAddKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &index = ctx.In(kIndex);
    IndexList list = FlatIndices(ctx, kIndex, x.dims(), "X");
    Tensor& out = ctx.Out(kOut);
    CopyAll(ctx, x, &out);
    kernels::AddRows(RowsOf(x.dims(), index.dims()), out.mutable_data<T>(), list.data, list.size,
                     ctx.In(kUpdates).data<T>());
  }
};

REGISTER_OPERATOR(scatter_nd_add, DefineScatterNdAdd);
REGISTER_KERNELS(scatter_nd_add, ScatterNdAddKernel, uint8_t, int8_t, int16_t, int32_t, int64_t,
                 float, double);

}  // namespace
}  // namespace dygraph::gather_nd

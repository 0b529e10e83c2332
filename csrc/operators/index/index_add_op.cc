#include "operators/index/indexing.h"

namespace dygraph::indexing {
namespace {

constexpr int kX = 0, kIndex = 1, kAddValue = 2, kOut = 0;

struct IndexAddAttrs {
  int32_t axis = 0;
};

void InferShape(InferContext& ctx) {
  const Dims &x = ctx.dims(kX), &index = ctx.dims(kIndex), &value = ctx.dims(kAddValue);
  ENFORCE(!x.empty(), InvalidArgument, "X must have an axis to add along, got shape []");
  const int axis = NormalizeAxis(ctx.attrs<IndexAddAttrs>().axis, x.rank());
  ENFORCE(index.rank() == 1, InvalidArgument, "Index must have one axis, got shape ", index);
  Dims wanted = x;
  wanted[axis] = index[0];
  bool fits = value.rank() == x.rank();
  for (int i = 0; fits && i < x.rank(); ++i)
    fits = value[i] == wanted[i] || !BothKnown(value[i], wanted[i]);
  ENFORCE(fits, InvalidArgument, "AddValue must have the shape ", wanted, ", that of X with ",
          index[0], " along the axis, got ", value);
  ENFORCE(ctx.dtype(kAddValue) == ctx.dtype(kX), Type, "AddValue must be of the type of X, ",
          ctx.dtype(kX), ", got ", ctx.dtype(kAddValue), ". Convert with astype()");
  ctx.SetOutput(kOut, x, ctx.dtype(kX));
}

void DefineIndexAdd(OpDef& op) {
  op.Comment(
        "Out = X, and then Out[..., Index[i], ...] += AddValue[..., i, ...] along the axis, in "
        "order of i.")
      .Example(
          ">>> x, index = to_variable([[1.0, 2.0]]), to_variable([1, 1])\n"
          ">>> F.index_add(x, 1, index, to_variable([[10.0, 20.0]])).tolist()\n"
          "[[1.0, 32.0]]")
      .Input(kX, "X", "at least one axis")
      .Input(kIndex, "Index", "[n], int32 or int64; negative ones count from the end")
      .Input(kAddValue, "AddValue", "shape of X with n along the axis")
      .Output(kOut, "Out", "shape of X")
      .Attr(&IndexAddAttrs::axis, "axis", "the axis to add along")
      .ShareLoD(kX)
      .Shape(InferShape)
      .KernelDTypeOf(kX)
      .MixedDTypes()
      .Grad([](GradBuilder& g) {
        RecipeRef incoming = g.OutputGrad(kOut);
        g.Call("scale", {incoming}, {g.InputGrad(kX)});
        g.Call("index_select", {incoming, g.Input(kIndex)}, {g.InputGrad(kAddValue)})
            .Attr("dim", g.attrs<IndexAddAttrs>().axis);
      });
}

template <class T>
struct IndexAddKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    const int axis = NormalizeAxis(ctx.attrs<IndexAddAttrs>().axis, x.rank());
    IndexList list = CheckedIndices(ctx, kIndex, x.dim(axis), "the size of the axis of X");
    Tensor& out = ctx.Out(kOut);
    CopyAll(ctx, x, &out);
    kernels::AddRows({Numel(x.dims(), 0, axis), x.dim(axis), Numel(x.dims(), axis + 1, x.rank())},
                     out.mutable_data<T>(), list.data, list.size, ctx.In(kAddValue).data<T>());
  }
};

REGISTER_OPERATOR(index_add, DefineIndexAdd);
REGISTER_KERNELS(index_add, IndexAddKernel, int32_t, int64_t, float, double);

}  // namespace
}  // namespace dygraph::indexing

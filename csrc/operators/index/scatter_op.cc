#include "op/gradient_call.h"
#include "op/gradient_shapes.h"
#include "operators/index/indexing.h"

namespace dygraph::indexing {
namespace {

constexpr int kX = 0, kIds = 1, kUpdates = 2, kOut = 0;

struct ScatterAttrs {
  bool overwrite = true;
};

// Ids [n] or [n, 1] number rows of x; updates are [n, row of x].
void CheckShapes(const Dims& x, const Dims& ids, const Dims& updates) {
  ENFORCE(!x.empty(), InvalidArgument, "X must have at least one axis of rows, got shape []");
  ENFORCE(ids.rank() == 1 || (ids.rank() == 2 && (ids[1] == 1 || ids[1] < 0)), InvalidArgument,
          "Ids must have shape [n] or [n, 1], got ", ids);
  Dims expected = x;
  expected[0] = ids[0];
  bool same = updates.size() == expected.size();
  for (size_t i = 0; same && i < expected.size(); ++i)
    same = updates[i] == expected[i] || !BothKnown(updates[i], expected[i]);
  ENFORCE(same, InvalidArgument, "Updates must have the shape ", expected, " for X ", x,
          " and Ids ", ids, ", got ", updates);
}

kernels::RowShape RowsOf(const Dims& x) { return {1, x[0], Numel(x, 1, x.rank())}; }

IndexList Rows(KernelContext& ctx, int slot, const Dims& x) {
  return CheckedIndices(ctx, slot, x[0], "the number of rows of X");
}

void InferShape(InferContext& ctx) {
  CheckShapes(ctx.dims(kX), ctx.dims(kIds), ctx.dims(kUpdates));
  ENFORCE(ctx.dtype(kUpdates) == ctx.dtype(kX), Type, "Updates must be of the type of X, ",
          ctx.dtype(kX), ", got ", ctx.dtype(kUpdates), ". Convert with astype()");
  ctx.SetOutput(kOut, ctx.dims(kX), ctx.dtype(kX));
}

void DefineScatter(OpDef& op) {
  op.Comment(
        "Out = X with the rows Ids replaced by Updates; of a row that repeats the last update "
        "stays, and only that one gets a gradient. With overwrite=False the rows Ids start at 0 "
        "and updates of one row add up.")
      .Example(
          ">>> x, updates = to_variable([[1.0], [2.0], [3.0]]), to_variable([[10.0], [20.0]])\n"
          ">>> F.scatter(x, to_variable([2, 0]), updates).tolist()\n"
          "[[20.0], [2.0], [10.0]]")
      .Input(kX, "X", "at least one axis")
      .Input(kIds, "Ids", "[n] or [n, 1], int32 or int64; negative ones count from the end")
      .Input(kUpdates, "Updates", "[n, ...]: a row of X for each id")
      .Output(kOut, "Out", "shape of X")
      .Attr(&ScatterAttrs::overwrite, "overwrite", "write, or add to 0")
      .ShareLoD(kX)
      .Shape(InferShape)
      .KernelDTypeOf(kX)
      .MixedDTypes()
      .Grad(CallGradient);
}

template <class T>
struct ScatterKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &updates = ctx.In(kUpdates);
    IndexList ids = Rows(ctx, kIds, x.dims());
    Tensor& out = ctx.Out(kOut);
    kernels::RowShape rows = RowsOf(x.dims());
    CopyAll(ctx, x, &out);
    T* to = out.mutable_data<T>();
    if (ctx.attrs<ScatterAttrs>().overwrite)
      return kernels::PutRows(rows, to, ids.data, ids.size, updates.data<T>(), sizeof(T));
    kernels::ClearRows(rows, to, ids.data, ids.size, sizeof(T));
    kernels::AddRows(rows, to, ids.data, ids.size, updates.data<T>());
  }
};

namespace grad {
constexpr int kIds = 0, kUpdates = 1, kOutGrad = 2, kXGrad = 0, kUpdatesGrad = 1;

void InferGradShape(InferContext& ctx) {
  CheckShapes(ctx.dims(kOutGrad), ctx.dims(kIds), ctx.dims(kUpdates));
  ctx.SetOutput(kXGrad, ctx.dims(kOutGrad), ctx.dtype(kOutGrad));
  ctx.SetOutput(kUpdatesGrad, ctx.dims(kUpdates), ctx.dtype(kOutGrad));
}

void DefineScatterGrad(OpDef& op) {
  op.Comment(
        "X@GRAD = Out@GRAD with 0 in the rows Ids; Updates@GRAD = the rows Ids of Out@GRAD, "
        "with overwrite 0 for updates that were overwritten.")
      .Input(kIds, "Ids", "[n] or [n, 1]")
      .Input(kUpdates, "Updates", "its shape", kShapeOnly)
      .Input(kOutGrad, "Out@GRAD", "shape of X")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .Output(kUpdatesGrad, "Updates@GRAD", "shape of Updates")
      .AttrsOf("scatter")
      .Shape(InferGradShape)
      .KernelDTypeOf(kOutGrad)
      .MixedDTypes()
      .Grad([](GradBuilder& g) {
        RecipeRef kept = g.Temp(), put = g.Temp();
        g.Call("scatter_grad", {g.Input(kIds), g.InputShape(kUpdates), g.OutputGrad(kXGrad)},
               {kept})
            .SameAttrs();
        RecipeRef zero = g.Apply("fill_any_like", {g.InputShape(kOutGrad)});
        g.Call("scatter", {zero, g.Input(kIds), g.OutputGrad(kUpdatesGrad)}, {put}).SameAttrs();
        g.Call("sum", {RecipeSlot({kept, put})}, {g.InputGrad(kOutGrad)});
      });
}

template <class T>
struct ScatterGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& g = ctx.In(kOutGrad);
    IndexList ids = Rows(ctx, kIds, g.dims());
    kernels::RowShape rows = RowsOf(g.dims());
    if (Tensor* out = ctx.OutOrNull(kXGrad)) {
      CopyAll(ctx, g, out);
      kernels::ClearRows(rows, out->mutable_data<T>(), ids.data, ids.size, sizeof(T));
    }
    if (Tensor* out = ctx.OutOrNull(kUpdatesGrad))
      TakeWritten(rows, g, ids.data, ids.size, ctx.attrs<ScatterAttrs>().overwrite, out);
  }
};
}  // namespace grad

REGISTER_GRADIENT_SHAPES(scatter, {"X", "Out"});
REGISTER_OPERATOR(scatter, DefineScatter);
REGISTER_KERNELS(scatter, ScatterKernel, int32_t, int64_t, float, double);
REGISTER_OPERATOR(scatter_grad, grad::DefineScatterGrad);
REGISTER_KERNELS(scatter_grad, grad::ScatterGradKernel, float, double);

}  // namespace
}  // namespace dygraph::indexing

// Assignment through index arrays, which Python's x[i, j] = v comes down to.
#include "kernels/broadcast.h"
#include "kernels/strided_copy.h"
#include "op/gradient_call.h"
#include "op/gradient_shapes.h"
#include "operators/index/indexing.h"

namespace dygraph::indexing {
namespace {

constexpr int kX = 0, kIndices = 1, kValue = 2, kOut = 0;

struct IndexPutAttrs {
  bool accumulate = false;
};

// The common shape of the index arrays.
Dims CommonDims(const Call& call, int slot) {
  Dims common;
  for (int i = 0; i < call.in.count(slot); ++i)
    common = BroadcastDims(common, call.in.at(slot, i)->tensor().dims(), "indices", "indices");
  return common;
}

// The shape that is written: that of the indices and the axes of x that they leave.
Dims WrittenDims(const Call& call, int slot, const Dims& x, const Dims& value) {
  int count = call.in.count(slot);
  ENFORCE(count >= 1 && count <= x.rank(), InvalidArgument,
          "indices must be one array for each of the first axes of x ", x, ", at most ", x.rank(),
          ", got ", count);
  for (int i = 0; i < count; ++i) {
    DType type = call.in.at(slot, i)->dtype();
    ENFORCE(type == DType::kInt32 || type == DType::kInt64, Type,
            "indices must be of int32 or int64, got ", type, ". Convert with astype('int64')");
  }
  Dims written = CommonDims(call, slot);
  for (int i = count; i < x.rank(); ++i) written.push_back(x[i]);
  int lead = written.rank() - value.rank();
  bool fits = lead >= 0;
  for (int i = 0; fits && i < value.rank(); ++i) {
    int64_t v = value[i], w = written[lead + i];
    fits = v == w || v == 1 || !BothKnown(v, w);
  }
  ENFORCE(fits, InvalidArgument, "value must broadcast to the shape ", written,
          " that the indices address in x ", x, ", got ", value);
  return written;
}

kernels::RowShape RowsOf(const Call& call, int slot, const Dims& x) {
  int count = call.in.count(slot);
  return {1, Numel(x, 0, count), Numel(x, count, x.rank())};
}

void InferShape(InferContext& ctx) {
  WrittenDims(ctx.call(), kIndices, ctx.dims(kX), ctx.dims(kValue));
  ENFORCE(ctx.dtype(kValue) == ctx.dtype(kX), Type, "value must be of the type of x, ",
          ctx.dtype(kX), ", got ", ctx.dtype(kValue), ". Convert with astype()");
  ctx.SetOutput(kOut, ctx.dims(kX), ctx.dtype(kX));
}

void DefineIndexPut(OpDef& op) {
  op.Comment(
        "out = x, and then out[indices[0], indices[1], ...] = value, as in NumPy: the indices "
        "address the first axes of x and broadcast together, value broadcasts to what they "
        "address. Of an element written more than once the last value stays, and only that "
        "one gets a gradient; with accumulate all are added.")
      .Example(
          ">>> x, where = to_variable([1.0, 2.0, 3.0]), to_variable([0, 2])\n"
          ">>> F.index_put(x, [where], to_variable([10.0, 30.0])).tolist()\n"
          "[10.0, 2.0, 30.0]")
      .Input(kX, "x", "at least as many axes as indices")
      .Input(kIndices, "indices", "int32 or int64; negative ones count from the end", kDuplicable)
      .Input(kValue, "value", "broadcasts to the shape of the indices and the other axes of x")
      .Output(kOut, "out", "shape of x")
      .Attr(&IndexPutAttrs::accumulate, "accumulate", "add to what is there")
      .Shape(InferShape)
      .KernelDTypeOf(kX)
      .MixedDTypes()
      .ShareLoD(kX)
      .InPlace(kX, kOut)
      .Grad(CallGradient);
}

Tensor BroadcastTo(const Tensor& value, const Dims& shape) {
  if (value.numel() == Numel(shape)) return value;
  Tensor full(shape, value.dtype(), value.place());
  Dims strides(shape.size(), 0);
  kernels::BroadcastStrides(value.dims(), shape, shape.rank() - value.rank(), strides.data());
  kernels::CopyStrided(shape, value.raw_data(), strides, full.mutable_raw_data(), Strides(shape),
                       SizeOf(value.dtype()));
  return full;
}

template <class T>
struct IndexPutKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    Tensor value = ctx.In(kValue);
    Tensor& out = ctx.Out(kOut);
    IndexList list = JoinedIndices(ctx, kIndices, CommonDims(ctx.call(), kIndices), x.dims());
    Dims written = WrittenDims(ctx.call(), kIndices, x.dims(), value.dims());
    if (value.raw_data() == out.raw_data()) value = value.Clone();  // x[i] = x, in place
    CopyAll(ctx, x, &out);
    if (Numel(written) == 0) return;
    Tensor full = BroadcastTo(value, written);
    kernels::RowShape rows = RowsOf(ctx.call(), kIndices, x.dims());
    if (!ctx.attrs<IndexPutAttrs>().accumulate)
      return kernels::PutRows(rows, out.mutable_raw_data(), list.data, list.size, full.raw_data(),
                              sizeof(T));
    if constexpr (sizeof(T) >= 4) {
      kernels::AddRows(rows, out.mutable_data<T>(), list.data, list.size, full.data<T>());
    } else {
      THROW(Unimplemented, "accumulate adds int32, int64, float32 and float64, got ", x.dtype(),
            ". Convert with astype()");
    }
  }
};

namespace grad {
constexpr int kIndices = 0, kValue = 1, kOutGrad = 2, kXGrad = 0, kValueGrad = 1;

void InferGradShape(InferContext& ctx) {
  WrittenDims(ctx.call(), kIndices, ctx.dims(kOutGrad), ctx.dims(kValue));
  ctx.SetOutput(kXGrad, ctx.dims(kOutGrad), ctx.dtype(kOutGrad));
  ctx.SetOutput(kValueGrad, ctx.dims(kValue), ctx.dtype(kOutGrad));
}

void DefineIndexPutGrad(OpDef& op) {
  op.Comment(
        "x@GRAD = out@GRAD, without accumulate 0 where the value was written; value@GRAD = "
        "out@GRAD there, summed over the axes along which the value was broadcast, without "
        "accumulate 0 for values that were overwritten.")
      .Input(kIndices, "indices", "as in the forward call", kDuplicable)
      .Input(kValue, "value", "its shape", kShapeOnly)
      .Input(kOutGrad, "out@GRAD", "shape of x")
      .Output(kXGrad, "x@GRAD", "shape of x")
      .Output(kValueGrad, "value@GRAD", "shape of value")
      .AttrsOf("index_put")
      .Shape(InferGradShape)
      .KernelDTypeOf(kOutGrad)
      .MixedDTypes()
      .Grad([](GradBuilder& g) {
        RecipeRef kept = g.Temp(), put = g.Temp();
        g.Call("index_put_grad", {g.Inputs(kIndices), g.InputShape(kValue), g.OutputGrad(kXGrad)},
               {kept})
            .SameAttrs();
        RecipeRef zero = g.Apply("fill_any_like", {g.InputShape(kOutGrad)});
        g.Call("index_put", {zero, g.Inputs(kIndices), g.OutputGrad(kValueGrad)}, {put})
            .SameAttrs();
        g.Call("sum", {RecipeSlot({kept, put})}, {g.InputGrad(kOutGrad)});
      });
}

template <class T>
struct IndexPutGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& g = ctx.In(kOutGrad);
    bool accumulate = ctx.attrs<IndexPutAttrs>().accumulate;
    IndexList list = JoinedIndices(ctx, kIndices, CommonDims(ctx.call(), kIndices), g.dims());
    kernels::RowShape rows = RowsOf(ctx.call(), kIndices, g.dims());
    if (Tensor* out = ctx.OutOrNull(kXGrad)) {
      CopyAll(ctx, g, out);
      if (!accumulate)
        kernels::ClearRows(rows, out->mutable_data<T>(), list.data, list.size, sizeof(T));
    }
    Tensor* out = ctx.OutOrNull(kValueGrad);
    if (!out || out->numel() == 0) return;
    Dims written = WrittenDims(ctx.call(), kIndices, g.dims(), out->dims());
    if (Numel(written) == 0) return Clear(out);
    if (out->numel() == Numel(written))
      return TakeWritten(rows, g, list.data, list.size, !accumulate, out);
    Tensor full(written, g.dtype(), g.place());
    TakeWritten(rows, g, list.data, list.size, !accumulate, &full);
    Dims strides(written.size(), 0);
    kernels::BroadcastStrides(out->dims(), written, written.rank() - out->rank(), strides.data());
    kernels::SumTo(written, full.data<T>(), Strides(written), out->mutable_data<T>(), strides);
  }
};
}  // namespace grad

REGISTER_GRADIENT_SHAPES(index_put, {"x", "out"});
REGISTER_OPERATOR(index_put, DefineIndexPut);
REGISTER_KERNELS(index_put, IndexPutKernel, AllTypes);
REGISTER_OPERATOR(index_put_grad, grad::DefineIndexPutGrad);
REGISTER_KERNELS(index_put_grad, grad::IndexPutGradKernel, float, double, complex64, complex128);

}  // namespace
}  // namespace dygraph::indexing

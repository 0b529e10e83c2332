#include "kernels/broadcast.h"
#include "kernels/strided_copy.h"
#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kCondition = 0, kX = 1, kY = 2, kOut = 0;

Dims CommonDims(const Dims& condition, const Dims& x, const Dims& y) {
  return BroadcastDims(condition, BroadcastDims(x, y, "X", "Y"), "Condition", "X and Y");
}

void RequireBool(InferContext& ctx) {
  ENFORCE(ctx.dtype(kCondition) == DType::kBool, Type, "Condition must be of bool, got ",
          ctx.dtype(kCondition), ". Compare, as in x > 0, or convert with astype('bool')");
}

void InferShape(InferContext& ctx) {
  RequireBool(ctx);
  ENFORCE(ctx.dtype(kX) == ctx.dtype(kY), Type, "X and Y must be of one type, got ", ctx.dtype(kX),
          " and ", ctx.dtype(kY), ". Convert with astype()");
  ctx.SetOutput(kOut, CommonDims(ctx.dims(kCondition), ctx.dims(kX), ctx.dims(kY)), ctx.dtype(kX));
}

// The strides of a tensor repeated to `shape`.
Dims RepeatedStrides(const Dims& dims, const Dims& shape) {
  Dims strides(shape.size(), 0);
  kernels::BroadcastStrides(dims, shape, shape.rank() - dims.rank(), strides.data());
  return strides;
}

// The values repeated to `shape`; the tensor itself where it has that shape.
Tensor Repeated(const Tensor& t, const Dims& shape) {
  if (t.dims() == shape) return t;
  Tensor full(shape, t.dtype(), t.place());
  kernels::CopyStrided(shape, t.raw_data(), RepeatedStrides(t.dims(), shape),
                       full.mutable_raw_data(), Strides(shape), SizeOf(t.dtype()));
  return full;
}

void DefineWhere(OpDef& op) {
  op.Comment(
        "Out = X where Condition is true, else Y, elementwise; the three broadcast as in "
        "NumPy.")
      .Example(
          ">>> condition = to_variable([True, False, True])\n"
          ">>> F.where(condition, to_variable([1.0, 2.0, 3.0]), to_variable([0.0])).tolist()\n"
          "[1.0, 0.0, 3.0]")
      .Input(kCondition, "Condition", "bool")
      .Input(kX, "X", "broadcasts with the others")
      .Input(kY, "Y", "broadcasts with the others; type of X")
      .Output(kOut, "Out", "the common shape")
      .Shape(InferShape)
      .KernelDTypeOf(kX)
      .MixedDTypes()
      .Grad([](GradBuilder& g) {
        g.Call("where_grad",
               {g.Input(kCondition), g.InputShape(kX), g.InputShape(kY), g.OutputGrad(kOut)},
               {g.InputGrad(kX), g.InputGrad(kY)});
      });
}

template <class T>
struct WhereKernel {
  static void Compute(KernelContext& ctx) {
    Tensor& out = ctx.Out(kOut);
    if (out.numel() == 0) return;
    const Dims& shape = out.dims();
    Tensor condition = Repeated(ctx.In(kCondition), shape), x = Repeated(ctx.In(kX), shape),
           y = Repeated(ctx.In(kY), shape);
    const bool* c = condition.data<bool>();
    const T *xv = x.data<T>(), *yv = y.data<T>();
    T* to = out.mutable_data<T>();
    ParallelFor(out.numel(), kernels::Grain(), [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[i] = c[i] ? xv[i] : yv[i];
    });
  }
};

namespace grad {
constexpr int kX = 1, kY = 2, kOutGrad = 3, kXGrad = 0, kYGrad = 1;

void InferGradShape(InferContext& ctx) {
  RequireBool(ctx);
  ctx.SetOutput(kXGrad, ctx.dims(kX), ctx.dtype(kX));
  ctx.SetOutput(kYGrad, ctx.dims(kY), ctx.dtype(kY));
}

void DefineWhereGrad(OpDef& op) {
  op.Comment(
        "X@GRAD = Out@GRAD where Condition is true, else 0, Y@GRAD the rest; each summed over "
        "the axes along which it was broadcast.")
      .Input(kCondition, "Condition", "bool")
      .Input(kX, "X", "its shape")
      .Input(kY, "Y", "its shape")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .Output(kYGrad, "Y@GRAD", "shape of Y")
      .Shape(InferGradShape)
      .KernelDTypeOf(kOutGrad)
      .MixedDTypes()
      .Grad([](GradBuilder& g) {
        RecipeRef from_x = g.Temp(), from_y = g.Temp();
        RecipeRef no_x = g.Apply("fill_any_like", {g.InputShape(kX)});
        RecipeRef no_y = g.Apply("fill_any_like", {g.InputShape(kY)});
        g.Call("where", {g.Input(kCondition), g.OutputGrad(kXGrad), no_y}, {from_x});
        g.Call("where", {g.Input(kCondition), no_x, g.OutputGrad(kYGrad)}, {from_y});
        g.Call("sum", {RecipeSlot({from_x, from_y})}, {g.InputGrad(kOutGrad)});
      });
}

template <class T>
struct WhereGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& g = ctx.In(kOutGrad);
    Tensor condition = Repeated(ctx.In(kCondition), g.dims());
    Pass(g, condition.data<bool>(), true, ctx.OutOrNull(kXGrad));
    Pass(g, condition.data<bool>(), false, ctx.OutOrNull(kYGrad));
  }

  static void Pass(const Tensor& g, const bool* condition, bool side, Tensor* out) {
    if (!out || out->numel() == 0) return;
    T* to = out->mutable_data<T>();
    if (g.numel() == 0) return kernels::Fill(to, out->numel(), T(0));
    Tensor full;
    if (out->dims() != g.dims()) {
      full = Tensor(g.dims(), g.dtype(), g.place());
      to = full.mutable_data<T>();
    }
    const T* from = g.data<T>();
    if (side) {
      kernels::Zip(from, condition, to, g.numel(), [](T v, bool c) { return c ? v : T(0); });
    } else {
      kernels::Zip(from, condition, to, g.numel(), [](T v, bool c) { return c ? T(0) : v; });
    }
    if (full.has_data())
      kernels::SumTo(g.dims(), full.data<T>(), Strides(g.dims()), out->mutable_data<T>(),
                     RepeatedStrides(out->dims(), g.dims()));
  }
};
}  // namespace grad

REGISTER_OPERATOR(where, DefineWhere);
REGISTER_CPU_KERNEL(where, WhereKernel, bool, uint8_t, int8_t, int16_t, int32_t, int64_t, float16,
                    bfloat16, float, double);
REGISTER_OPERATOR(where_grad, grad::DefineWhereGrad);
REGISTER_CPU_KERNEL(where_grad, grad::WhereGradKernel, float, double);

}  // namespace
}  // namespace dygraph

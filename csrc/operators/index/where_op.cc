#include "kernels/elementwise.h"
#include "kernels/loops.h"
#include "op/gradient_call.h"
#include "op/lod_rule.h"
#include "op/op_registry.h"
#include "op/pointwise.h"
#include "operators/index/repeated.h"

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
      .ShareLoD(kX)
      .Shape(InferShape)
      .KernelDTypeOf(kX)
      .MixedDTypes()
      .Grad(CallGradient);
}

// Bits are chosen by a mask, not by a branch: what the next element is, no processor can guess.
template <size_t kSize>
struct BitsOf {
  using Type = uint64_t;
};
template <>
struct BitsOf<16> {
  typedef unsigned __int128 Type __attribute__((aligned(8)));
};
template <>
struct BitsOf<4> {
  using Type = uint32_t;
};
template <>
struct BitsOf<2> {
  using Type = uint16_t;
};
template <>
struct BitsOf<1> {
  using Type = uint8_t;
};
// All bits where `condition`, the byte of a bool, is true.
template <class Bits>
DYGRAPH_INLINE Bits MaskOf(uint8_t condition) {
  return static_cast<Bits>(Bits(0) - static_cast<Bits>(condition));
}
// f(i) for every i in [0, n): a copy for each instruction set, whatever the type.
template <class F>
void EachElement(int64_t n, F f) {
  kernels::ForEachSimd<float>(n, f);
}
inline const uint8_t* Bytes(const Tensor& condition) {
  return reinterpret_cast<const uint8_t*>(condition.data<bool>());
}

template <class T>
struct WhereKernel {
  static void Compute(KernelContext& ctx) {
    Tensor& out = ctx.Out(kOut);
    if (out.numel() == 0) return;
    const Dims& shape = out.dims();
    Tensor condition = Repeated(ctx.In(kCondition), shape), x = Repeated(ctx.In(kX), shape),
           y = Repeated(ctx.In(kY), shape);
    using Bits = typename BitsOf<sizeof(T)>::Type;
    const Bits *a = static_cast<const Bits*>(x.raw_data()),
               *b = static_cast<const Bits*>(y.raw_data());
    const uint8_t* c = Bytes(condition);
    Bits* to = static_cast<Bits*>(out.mutable_raw_data());
    EachElement(out.numel(), [=] DYGRAPH_FN(int64_t i) {
      const Bits mask = MaskOf<Bits>(c[i]);
      to[i] = (a[i] & mask) | (b[i] & ~mask);
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
      .Input(kX, "X", "its shape", kShapeOnly)
      .Input(kY, "Y", "its shape", kShapeOnly)
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
    Tensor *dx = ctx.OutOrNull(kXGrad), *dy = ctx.OutOrNull(kYGrad);
    if (g.numel() == 0) {
      for (Tensor* out : {dx, dy}) {
        if (out) kernels::Fill(out->mutable_data<T>(), out->numel(), T(0));
      }
      return;
    }
    Tensor condition = Repeated(ctx.In(kCondition), g.dims());
    Tensor full_x = Target(dx, g), full_y = Target(dy, g);
    Pass(Bytes(condition), g, BitsTo(dx, &full_x), BitsTo(dy, &full_y));
    Sum(full_x, dx);
    Sum(full_y, dy);
  }

  using Bits = typename BitsOf<sizeof(T)>::Type;

  // Where a gradient of another shape than that of g is put together, before it is summed.
  static Tensor Target(const Tensor* out, const Tensor& g) {
    if (!out || out->dims() == g.dims()) return Tensor();
    return Tensor(g.dims(), g.dtype(), g.place());
  }
  static Bits* BitsTo(Tensor* out, Tensor* full) {
    if (!out) return nullptr;
    return static_cast<Bits*>((full->has_data() ? full : out)->mutable_raw_data());
  }
  static void Sum(const Tensor& full, Tensor* out) {
    if (!out || !full.has_data()) return;
    kernels::SumTo(full.dims(), full.data<T>(), Strides(full.dims()), out->mutable_data<T>(),
                   RepeatedStrides(out->dims(), full.dims()));
  }

  // to_x = g where the condition is true, else 0, and to_y the rest; either may be null.
  static void Pass(const uint8_t* c, const Tensor& g, Bits* to_x, Bits* to_y) {
    const Bits* from = static_cast<const Bits*>(g.raw_data());
    if (to_x && to_y) {
      EachElement(g.numel(), [=] DYGRAPH_FN(int64_t i) {
        const Bits mask = MaskOf<Bits>(c[i]);
        to_x[i] = from[i] & mask;
        to_y[i] = from[i] & ~mask;
      });
    } else if (to_x) {
      EachElement(g.numel(), [=] DYGRAPH_FN(int64_t i) { to_x[i] = from[i] & MaskOf<Bits>(c[i]); });
    } else if (to_y) {
      EachElement(g.numel(),
                  [=] DYGRAPH_FN(int64_t i) { to_y[i] = from[i] & ~MaskOf<Bits>(c[i]); });
    }
  }
};
}  // namespace grad

REGISTER_OPERATOR(where, DefineWhere);
REGISTER_POINTWISE(where);
REGISTER_LOD_ALSO(where, kCondition, kY);
REGISTER_KERNELS(where, WhereKernel, AllTypes);
REGISTER_OPERATOR(where_grad, grad::DefineWhereGrad);
REGISTER_POINTWISE(where_grad);
REGISTER_KERNELS(where_grad, grad::WhereGradKernel, float, double, complex64, complex128);
REGISTER_DEVICE_TYPES(where_grad, grad::WhereGradKernel, float16, bfloat16);

}  // namespace
}  // namespace dygraph

#include "kernels/cast.h"
#include "kernels/complex.h"
#include "kernels/elementwise.h"
#include "op/op_registry.h"
#include "op/pointwise.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

struct CastAttrs {
  DType out_dtype = DType::kUnset;
  DType in_dtype = DType::kUnset;
};

void InferShape(InferContext& ctx) {
  DType to = ctx.attrs<CastAttrs>().out_dtype;
  ENFORCE(to != DType::kUnset, InvalidArgument,
          "the attribute out_dtype must be given, got nothing");
  const DType from = ctx.dtype(kX);
  ENFORCE(!IsComplex(from) || IsComplex(to) || to == DType::kBool, Type, "X of ", from,
          " must become complex or bool, got ", to,
          ", which drops the imaginary part. Take x.real first");
  ctx.SetOutput(kOut, ctx.dims(kX), to);
}

void DefineCast(OpDef& op) {
  op.Comment(
        "Out = X in another element type. Floats become integers towards zero, saturating, NaN as "
        "0; "
        "integers wrap; bool is X != 0. Complex numbers do not become real ones: take `real`.")
      .Example(
          ">>> F.cast(to_variable([1.7, -1.7, 3.0]), out_dtype=\"int32\").tolist()\n"
          "[1, -1, 3]")
      .Input(kX, "X", "any shape")
      .Output(kOut, "Out", "shape of X")
      .Attr(&CastAttrs::out_dtype, "out_dtype", "element type of Out")
      .Attr(&CastAttrs::in_dtype, "in_dtype", "element type of X, for programs; may be left out")
      .Shape(InferShape)
      .KeepsLayout()
      .ShareLoD(kX)
      .KernelAllocates()
      .MayShare(kX, kOut)
      .Grad([](GradBuilder& g) {
        if (g.attrs<CastAttrs>().in_dtype == DType::kUnset) {
          g.Call("cast_grad", {g.InputShape(kX), g.OutputGrad(kOut)}, {g.InputGrad(kX)});
          return;
        }
        RecipeRef incoming = g.OutputGrad(kOut);
        if (IsComplex(g.attrs<CastAttrs>().out_dtype) && !IsComplex(g.attrs<CastAttrs>().in_dtype))
          incoming = g.Apply("real", {incoming});
        g.Call("cast", {incoming}, {g.InputGrad(kX)})
            .AttrsFrom([](const void* forward, void* backward) {
              auto& to = *static_cast<CastAttrs*>(backward);
              const auto& from = *static_cast<const CastAttrs*>(forward);
              to.in_dtype = IsComplex(from.in_dtype) ? from.out_dtype : RealOf(from.out_dtype);
              to.out_dtype = from.in_dtype;
            });
      });
}

// `to` has its shape and type; nothing to convert means nothing to copy.
void CastTo(const Tensor& from, Tensor* to) {
  if (from.dtype() == to->dtype()) {
    to->ShareData(from);
  } else {
    to->AllocateData(from.place(), from.layout());
    kernels::Cast(from.dtype(), from.raw_data(), to->dtype(), to->mutable_raw_data(), from.numel());
  }
  to->SetLoD(from.lod_ref());
}

template <class T>
struct CastKernel {
  static void Compute(KernelContext& ctx) { CastTo(ctx.In(kX), &ctx.Out(kOut)); }
};

namespace grad {
constexpr int kX = 0, kOutGrad = 1, kXGrad = 0;

void DefineCastGrad(OpDef& op) {
  op.Comment("X@GRAD = Out@GRAD in the element type of X, the real part where that is real.")
      .Input(kX, "X", "its shape and type")
      .Input(kOutGrad, "Out@GRAD", "shape of X")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .SameShape(kX, kXGrad)
      .KernelDTypeOf(kOutGrad)
      .MixedDTypes()
      .KeepsLayout()
      .KernelAllocates()
      .MayShare(kOutGrad, kXGrad)
      .Grad([](GradBuilder& g) {
        g.Call("cast_grad", {g.InputShape(kOutGrad), g.OutputGrad(kXGrad)},
               {g.InputGrad(kOutGrad)});
      });
}

template <class T>
struct CastGradKernel {
  static Tensor RealPart(const Tensor& x) {
    using Real = kernels::RealPart<T>;
    Tensor real(x.dims(), DTypeOf<Real>::value, x.place(), x.layout());
    real.SetLoD(x.lod_ref());
    kernels::Map(x.data<T>(), real.mutable_data<Real>(), x.numel(),
                 [](T v) { return std::real(v); });
    return real;
  }
  static void Compute(KernelContext& ctx) {
    const Tensor& g = ctx.In(kOutGrad);
    ENFORCE(g.dims() == ctx.In(kX).dims(), InvalidArgument, "Out@GRAD must have the shape of X, ",
            ctx.In(kX).dims(), ", got ", g.dims());
    Tensor& out = ctx.Out(kXGrad);
    if constexpr (kIsComplex<T>) {
      if (!IsComplex(out.dtype())) return CastTo(RealPart(g), &out);
    }
    CastTo(g, &out);
  }
};
}  // namespace grad

REGISTER_OPERATOR(cast, DefineCast);
REGISTER_POINTWISE(cast);
REGISTER_KERNELS(cast, CastKernel, AllTypes);
REGISTER_OPERATOR(cast_grad, grad::DefineCastGrad);
REGISTER_POINTWISE(cast_grad);
REGISTER_KERNELS(cast_grad, grad::CastGradKernel, float16, bfloat16, float, double, complex64,
                 complex128);

}  // namespace
}  // namespace dygraph

#include "kernels/cast.h"
#include "op/op_registry.h"

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
  ctx.SetOutput(kOut, ctx.dims(kX), to);
}

void DefineCast(OpDef& op) {
  op.Comment(
        "Out = X in another element type. Floats become integers towards zero, saturating, NaN as "
        "0; "
        "integers wrap; bool is X != 0.")
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
        g.Call("cast", {g.OutputGrad(kOut)}, {g.InputGrad(kX)})
            .AttrsFrom([](const void* forward, void* backward) {
              auto& to = *static_cast<CastAttrs*>(backward);
              to.in_dtype = static_cast<const CastAttrs*>(forward)->out_dtype;
              to.out_dtype = static_cast<const CastAttrs*>(forward)->in_dtype;
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
  op.Comment("X@GRAD = Out@GRAD in the element type of X.")
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
  static void Compute(KernelContext& ctx) {
    const Tensor& g = ctx.In(kOutGrad);
    ENFORCE(g.dims() == ctx.In(kX).dims(), InvalidArgument, "Out@GRAD must have the shape of X, ",
            ctx.In(kX).dims(), ", got ", g.dims());
    CastTo(g, &ctx.Out(kXGrad));
  }
};
}  // namespace grad

REGISTER_OPERATOR(cast, DefineCast);
REGISTER_CPU_KERNEL(cast, CastKernel, bool, uint8_t, int8_t, int16_t, int32_t, int64_t, float16,
                    bfloat16, float, double);
REGISTER_OPERATOR(cast_grad, grad::DefineCastGrad);
REGISTER_CPU_KERNEL(cast_grad, grad::CastGradKernel, float16, bfloat16, float, double);

}  // namespace
}  // namespace dygraph

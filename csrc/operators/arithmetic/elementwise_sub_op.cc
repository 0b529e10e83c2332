#include "kernels/integer.h"
#include "op/gradient_call.h"
#include "op/pointwise.h"
#include "operators/arithmetic/binary.h"

namespace dygraph::elementwise {
namespace {

void DefineSub(OpDef& op) {
  DefineBinary(op,
               "Out = X - Y, elementwise. Shapes broadcast as NumPy's; axis >= 0 lays Y along X "
               "from that axis on.")
      .Example(
          ">>> F.elementwise_sub(to_variable([5.0, 3.0]), to_variable([1.0, 4.0])).tolist()\n"
          "[4.0, -1.0]")
      .Grad(CallGradient);
}

template <class T>
struct SubKernel {
  static void Compute(KernelContext& ctx) {
    Apply<T, T>(
        ctx.In(kX), ctx.In(kY), ctx.attrs<ElementwiseAttrs>().axis, &ctx.Out(kOut),
        [] DYGRAPH_FN(kernels::Wide<T> a, kernels::Wide<T> b) { return kernels::Minus(a, b); });
  }
};

namespace grad {
constexpr int kX = 0, kY = 1, kOutGrad = 2, kXGrad = 0, kYGrad = 1;

void DefineSubGrad(OpDef& op) {
  op.Comment(
        "X@GRAD is Out@GRAD and Y@GRAD is -Out@GRAD, summed over the axes along which X and Y were "
        "broadcast.")
      .Input(kX, "X", "its shape", kShapeOnly)
      .Input(kY, "Y", "its shape", kShapeOnly)
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .Output(kYGrad, "Y@GRAD", "shape of Y")
      .AttrsOf("elementwise_sub")
      .Shape(InferGradShape)
      .KernelDTypeOf(kOutGrad)
      .KeepsLayout()
      .KernelAllocates()
      .MayShare(kOutGrad, kXGrad)
      .Grad([](GradBuilder& g) {  // Out@GRAD@GRAD = X@GRAD@GRAD - Y@GRAD@GRAD
        g.Call("elementwise_add_grad_grad",
               {g.InputShape(kOutGrad), g.OutputGrad(kXGrad),
                g.ApplyScale(g.OutputGrad(kYGrad), -1.0f), g.InputShape(kX), g.InputShape(kY)},
               {g.InputGrad(kOutGrad)})
            .SameAttrs();
      });
}

template <class T>
struct SubGradKernel {
  static void Compute(KernelContext& ctx) {
    const Dims &x = ctx.In(kX).dims(), &y = ctx.In(kY).dims();
    const Tensor& g = ctx.In(kOutGrad);
    if (Tensor* out = ctx.OutOrNull(kXGrad)) {
      if (x == g.dims()) {
        out->ShareData(g);
      } else {
        out->AllocateData(g.place());
        ReduceTo<T>(g, x, out);
      }
    }
    if (Tensor* out = ctx.OutOrNull(kYGrad)) {
      bool whole = y == g.dims();
      out->AllocateData(g.place(), whole ? g.layout() : Layout::kPlain);
      if (!whole) ReduceTo<T>(g, AlignY(x, y, ctx.attrs<ElementwiseAttrs>().axis), out);
      const T* sum = whole ? g.data<T>() : out->data<T>();
      kernels::Map(sum, out->mutable_data<T>(), out->numel(),
                   [] DYGRAPH_FN(kernels::Wide<T> v) { return -v; });
    }
  }
};
}  // namespace grad

REGISTER_OPERATOR(elementwise_sub, DefineSub);
REGISTER_POINTWISE(elementwise_sub);
REGISTER_LOD_RULE(elementwise_sub, elementwise::KeepsRows);
REGISTER_LOD_ALSO(elementwise_sub, elementwise::kY);
REGISTER_KERNELS(elementwise_sub, SubKernel, float, double, uint8_t, int8_t, int16_t, int32_t,
                 int64_t, complex64, complex128);
REGISTER_DEVICE_TYPES(elementwise_sub, SubKernel, float16, bfloat16);
REGISTER_OPERATOR(elementwise_sub_grad, grad::DefineSubGrad);
REGISTER_KERNELS(elementwise_sub_grad, grad::SubGradKernel, float, double, complex64, complex128);
REGISTER_DEVICE_TYPES(elementwise_sub_grad, grad::SubGradKernel, float16, bfloat16);

}  // namespace
}  // namespace dygraph::elementwise


#include "kernels/integer.h"
#include "op/gradient_call.h"
#include "op/pointwise.h"
#include "operators/arithmetic/binary.h"

namespace dygraph::elementwise {
namespace {

void DefineAdd(OpDef& op) {
  DefineBinary(op,
               "Out = X + Y, elementwise. Shapes broadcast as NumPy's; axis >= 0 lays Y along X "
               "from that axis on.")
      .Example(
          ">>> x, y = to_variable([[1.0, 2.0], [3.0, 4.0]]), to_variable([10.0, 20.0])\n"
          ">>> F.elementwise_add(x, y).tolist(), F.elementwise_add(x, y, axis=0).tolist()\n"
          "([[11.0, 22.0], [13.0, 24.0]], [[11.0, 12.0], [23.0, 24.0]])")
      .Grad(CallGradient);
}

template <class T>
struct AddKernel {
  static void Compute(KernelContext& ctx) {
    Apply<T, T>(
        ctx.In(kX), ctx.In(kY), ctx.attrs<ElementwiseAttrs>().axis, &ctx.Out(kOut),
        [] DYGRAPH_FN(kernels::Wide<T> a, kernels::Wide<T> b) { return kernels::Plus(a, b); });
  }
};

namespace grad {
constexpr int kX = 0, kY = 1, kOutGrad = 2, kXGrad = 0, kYGrad = 1;

void DefineAddGrad(OpDef& op) {
  op.Comment(
        "X@GRAD and Y@GRAD are Out@GRAD, summed over the axes along which X and Y were broadcast.")
      .Input(kX, "X", "its shape", kShapeOnly)
      .Input(kY, "Y", "its shape", kShapeOnly)
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .Output(kYGrad, "Y@GRAD", "shape of Y")
      .AttrsOf("elementwise_add")
      .Shape(InferGradShape)
      .KernelDTypeOf(kOutGrad)
      .KeepsLayout()
      .KernelAllocates()
      .MayShare(kOutGrad, kXGrad)
      .MayShare(kOutGrad, kYGrad)
      .Grad(CallGradient);
}

template <class T>
struct AddGradKernel {
  static void One(const Tensor& g, const Dims& dims, const Dims& aligned, Tensor* out) {
    if (!out) return;
    if (dims == g.dims()) return out->ShareData(g);  // nothing was broadcast: the gradient itself
    out->AllocateData(g.place());
    ReduceTo<T>(g, aligned, out);
  }
  static void Compute(KernelContext& ctx) {
    const Dims &x = ctx.In(kX).dims(), &y = ctx.In(kY).dims();
    const Tensor& g = ctx.In(kOutGrad);
    One(g, x, x, ctx.OutOrNull(kXGrad));
    One(g, y, AlignY(x, y, ctx.attrs<ElementwiseAttrs>().axis), ctx.OutOrNull(kYGrad));
  }
};
}  // namespace grad

namespace grad_grad {
constexpr int kOutGrad = 0, kXGradGrad = 1, kYGradGrad = 2, kX = 3, kY = 4, kOutGradGrad = 0;

void DefineAddGradGrad(OpDef& op) {
  op.Comment(
        "Out@GRAD@GRAD = X@GRAD@GRAD + Y@GRAD@GRAD, an absent one being zero, in the shape of Out.")
      .Input(kOutGrad, "Out@GRAD", "its shape", kShapeOnly)
      .Input(kXGradGrad, "X@GRAD@GRAD", "shape of X", kDispensable)
      .Input(kYGradGrad, "Y@GRAD@GRAD", "shape of Y", kDispensable)
      .Input(kX, "X", "its shape", kShapeOnly)
      .Input(kY, "Y", "its shape", kShapeOnly)
      .Output(kOutGradGrad, "Out@GRAD@GRAD", "shape of Out")
      .AttrsOf("elementwise_add")
      .SameShape(kOutGrad, kOutGradGrad)
      .KeepsLayout(true)
      .Grad([](GradBuilder& g) {
        g.Call("elementwise_add_grad",
               {g.InputShape(kX), g.InputShape(kY), g.OutputGrad(kOutGradGrad)},
               {g.InputGrad(kXGradGrad), g.InputGrad(kYGradGrad)})
            .SameAttrs();
      });
}

template <class T>
struct AddGradGradKernel {
  static void Compute(KernelContext& ctx) {
    Tensor& out = ctx.Out(kOutGradGrad);
    kernels::Fill(out.mutable_data<T>(), out.numel(), T(0));
    const Dims& x = ctx.In(kX).dims();
    int axis = ctx.attrs<ElementwiseAttrs>().axis;
    auto add = [&](const Tensor& term, const Dims& aligned) {
      Plan p = MakePlan(out, out.dims(), term, aligned, out.dims(), out.layout() == Layout::kNHWC);
      kernels::Broadcast(p.dims, out.data<T>(), p.x, term.data<T>(), p.y, out.mutable_data<T>(),
                         [] DYGRAPH_FN(kernels::Wide<T> a, kernels::Wide<T> b) { return a + b; });
    };
    if (out.numel() == 0) return;
    if (const Tensor* t = ctx.InOrNull(kXGradGrad)) add(*t, t->dims());
    if (const Tensor* t = ctx.InOrNull(kYGradGrad)) add(*t, AlignY(x, t->dims(), axis));
  }
};
}  // namespace grad_grad

REGISTER_OPERATOR(elementwise_add, DefineAdd);
REGISTER_POINTWISE(elementwise_add);
REGISTER_LOD_RULE(elementwise_add, elementwise::KeepsRows);
REGISTER_LOD_ALSO(elementwise_add, elementwise::kY);
REGISTER_KERNELS(elementwise_add, AddKernel, float, double, uint8_t, int8_t, int16_t, int32_t,
                 int64_t, complex64, complex128);
REGISTER_DEVICE_TYPES(elementwise_add, AddKernel, float16, bfloat16);
REGISTER_OPERATOR(elementwise_add_grad, grad::DefineAddGrad);
REGISTER_KERNELS(elementwise_add_grad, grad::AddGradKernel, float, double, complex64, complex128);
REGISTER_DEVICE_TYPES(elementwise_add_grad, grad::AddGradKernel, float16, bfloat16);
REGISTER_OPERATOR(elementwise_add_grad_grad, grad_grad::DefineAddGradGrad);
REGISTER_KERNELS(elementwise_add_grad_grad, grad_grad::AddGradGradKernel, float, double, complex64,
                 complex128);
REGISTER_DEVICE_TYPES(elementwise_add_grad_grad, grad_grad::AddGradGradKernel, float16, bfloat16);

}  // namespace
}  // namespace dygraph::elementwise

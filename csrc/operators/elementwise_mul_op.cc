#include "operators/elementwise.h"

namespace dygraph::elementwise {
namespace {

void DefineMul(OpDef& op) {
  op.Comment("Out = X * Y, elementwise. Shapes broadcast as NumPy's; axis >= 0 lays Y along X from that axis on.")
      .Input(kX, "X", "any shape")
      .Input(kY, "Y", "broadcasts with X")
      .Output(kOut, "Out", "the common shape")
      .Attr(&ElementwiseAttrs::axis, "axis", "first axis of X that Y lies along; -1: NumPy's rule")
      .Shape(InferShape)
      .KeepsLayout()
      .ShareLoD(kX)
      .InPlace(kX, kOut)
      .Grad([](GradBuilder& g) {  // each gradient reads the other factor's values, its own factor's shape
        g.Call("elementwise_mul_grad",
               {g.Wants(kY) ? g.Input(kX) : g.InputShape(kX), g.Wants(kX) ? g.Input(kY) : g.InputShape(kY),
                g.OutputGrad(kOut)},
               {g.InputGrad(kX), g.InputGrad(kY)})
            .SameAttrs();
      });
}

template <class T>
struct MulKernel {
  static void Compute(KernelContext& ctx) {
    Apply<T, T>(ctx.In(kX), ctx.In(kY), ctx.attrs<ElementwiseAttrs>().axis, &ctx.Out(kOut),
                [](T a, T b) { return static_cast<T>(a * b); });
  }
};

namespace grad {
constexpr int kX = 0, kY = 1, kOutGrad = 2, kXGrad = 0, kYGrad = 1;

void InferGradShape(InferContext& ctx) {
  ctx.SetOutput(kXGrad, ctx.dims(kX), ctx.dtype(kX));
  ctx.SetOutput(kYGrad, ctx.dims(kY), ctx.dtype(kY));
}

void DefineMulGrad(OpDef& op) {
  op.Comment("X@GRAD = Out@GRAD * Y and Y@GRAD = Out@GRAD * X, each summed over the axes it was broadcast along.")
      .Input(kX, "X", "its shape; its values for Y@GRAD")
      .Input(kY, "Y", "its shape; its values for X@GRAD")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .Output(kYGrad, "Y@GRAD", "shape of Y")
      .AttrsOf("elementwise_mul")
      .Shape(InferGradShape)
      .KernelDTypeOf(kOutGrad)
      .KeepsLayout()
      .Grad([](GradBuilder& g) {
        RecipeRef ddx = g.OutputGrad(kXGrad), ddy = g.OutputGrad(kYGrad);
        RecipeRef a = g.Temp(), b = g.Temp();
        g.Call("elementwise_mul", {ddx, g.Input(kY)}, {a}).SameAttrs();
        g.Call("elementwise_mul", {g.Input(kX), ddy}, {b}).SameAttrs();
        g.Call("sum", {RecipeSlot({a, b})}, {g.InputGrad(kOutGrad)});
        g.Call("elementwise_mul_grad", {g.InputShape(kX), ddy, g.Input(kOutGrad)}, {g.InputGrad(kX), {}}).SameAttrs();
        g.Call("elementwise_mul_grad", {ddx, g.InputShape(kY), g.Input(kOutGrad)}, {{}, g.InputGrad(kY)}).SameAttrs();
      });
}

template <class T>
struct MulGradKernel {
  // out = sum to `dims` of g * other
  static void One(const Tensor& g, const Tensor& other, const Dims& other_aligned, const Dims& aligned, Tensor* out) {
    if (!out || out->numel() == 0) return;
    auto times = [](T a, T b) { return a * b; };
    bool last = g.layout() == Layout::kNHWC;
    if (out->dims() == g.dims()) {
      if (other.dims() == g.dims()) {
        return kernels::Zip(g.data<T>(), other.data<T>(), out->mutable_data<T>(), g.numel(), times);
      }
      Plan p = MakePlan(g, g.dims(), other, other_aligned, g.dims(), last);
      return kernels::Broadcast(p.dims, g.data<T>(), p.x, other.data<T>(), p.y, out->mutable_data<T>(), times);
    }
    Tensor product(g.dims(), g.dtype(), g.place(), g.layout());
    if (g.numel() > 0) {
      Plan p = MakePlan(g, g.dims(), other, other_aligned, g.dims(), last);
      kernels::Broadcast(p.dims, g.data<T>(), p.x, other.data<T>(), p.y, product.mutable_data<T>(), times);
    }
    ReduceTo<T>(product, aligned, out);
  }
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &y = ctx.In(kY), &g = ctx.In(kOutGrad);
    Dims y_aligned = AlignY(x.dims(), y.dims(), ctx.attrs<ElementwiseAttrs>().axis);
    One(g, y, y_aligned, x.dims(), ctx.OutOrNull(kXGrad));
    One(g, x, x.dims(), y_aligned, ctx.OutOrNull(kYGrad));
  }
};
}  // namespace grad

REGISTER_OPERATOR(elementwise_mul, DefineMul);
REGISTER_CPU_KERNEL(elementwise_mul, MulKernel, float, double, uint8_t, int8_t, int16_t, int32_t, int64_t);
REGISTER_OPERATOR(elementwise_mul_grad, grad::DefineMulGrad);
REGISTER_CPU_KERNEL(elementwise_mul_grad, grad::MulGradKernel, float, double);

}  // namespace
}  // namespace dygraph::elementwise

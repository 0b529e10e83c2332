#include "kernels/softmax.h"
#include "op/gradient_call.h"
#include "op/gradient_shapes.h"
#include "op/lod_rule.h"
#include "operators/activation/row_sum.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

struct SoftmaxAttrs {
  int32_t axis = -1;
  std::string data_format = "AnyLayout";
};

void InferShape(InferContext& ctx) {
  NormalizeAxis(ctx.attrs<SoftmaxAttrs>().axis, ctx.rank(kX));
  ctx.SetOutput(kOut, ctx.dims(kX));
}

void DefineSoftmax(OpDef& op) {
  op.Comment("Out = exp(X) / sum(exp(X)), the sum along axis.")
      .Example(
          ">>> out = F.softmax(to_variable([[0.0, 0.0], [0.0, 1.0]]))\n"
          ">>> [[round(v, 4) for v in row] for row in out.tolist()]\n"
          "[[0.5, 0.5], [0.2689, 0.7311]]")
      .Input(kX, "X", "any shape")
      .Output(kOut, "Out", "shape of X")
      .Attr(&SoftmaxAttrs::axis, "axis", "the axis whose elements sum to one, -rank <= axis < rank")
      .Attr(&SoftmaxAttrs::data_format, "data_format",
            "of programs; axis counts the axes of X whatever it says",
            OneOf({"NCHW", "NHWC", "AnyLayout"}))
      .Shape(InferShape)
      .ShareLoD(kX)
      .InPlace(kX, kOut)
      .Grad(CallGradient);
}

template <class T>
struct SoftmaxKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    kernels::Softmax(x.data<T>(), ShapeOf(x.dims(), ctx.attrs<SoftmaxAttrs>().axis),
                     ctx.Out(kOut).mutable_data<T>());
  }
};

namespace grad {
constexpr int kOut = 0, kOutGrad = 1, kXGrad = 0;

void DefineSoftmaxGrad(OpDef& op) {
  op.Comment("X@GRAD = Out * (Out@GRAD - sum(Out@GRAD * Out)), the sum along axis.")
      .Input(kOut, "Out", "result of softmax")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of Out")
      .AttrsOf("softmax")
      .SameShape(kOut, kXGrad)
      .InPlace(kOutGrad, kXGrad)
      .Grad([](GradBuilder& g) {  // linear and symmetric in Out@GRAD
        RecipeRef v = g.OutputGrad(kXGrad);
        g.Call("softmax_grad", {g.Input(kOut), v}, {g.InputGrad(kOutGrad)}).SameAttrs();
        g.Call("softmax_grad_grad", {g.Input(kOut), g.Input(kOutGrad), v}, {g.InputGrad(kOut)})
            .SameAttrs();
      });
}

template <class T>
struct SoftmaxGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& y = ctx.In(kOut);
    kernels::SoftmaxGrad(y.data<T>(), ctx.In(kOutGrad).data<T>(),
                         ShapeOf(y.dims(), ctx.attrs<SoftmaxAttrs>().axis),
                         ctx.Out(kXGrad).mutable_data<T>());
  }
};
}  // namespace grad

namespace grad_grad {
constexpr int kOut = 0, kOutGrad = 1, kV = 2, kResult = 0;

// With W for the result and <a, b> for sum(a * b): Out gets -(Out@GRAD <W, V> + V <W, Out@GRAD>),
// Out@GRAD gets W V - Out <W, V> - W <V, Out>, and V the same with the two exchanged.
void SoftmaxGradGradRecipe(GradBuilder& g) {
  RecipeRef y = g.Input(kOut), dy = g.Input(kOutGrad), v = g.Input(kV), w = g.OutputGrad(kResult);
  auto times = [&](RecipeRef a, RecipeRef b) { return g.Apply("elementwise_mul", {a, b}); };
  RecipeRef wv = RowDot<SoftmaxAttrs>(g, w, v), wg = RowDot<SoftmaxAttrs>(g, w, dy);
  RecipeRef to_y = g.Temp();
  g.Call("sum", {RecipeSlot({times(dy, wv), times(v, wg)})}, {to_y});
  g.Call("scale", {to_y}, {g.InputGrad(kOut)}).Attr("scale", -1.0f);
  auto other = [&](RecipeRef with, RecipeRef dot, int slot) {
    RecipeRef taken = g.Temp();
    g.Call("sum", {RecipeSlot({times(y, dot), times(w, RowDot<SoftmaxAttrs>(g, with, y))})},
           {taken});
    g.Call("elementwise_sub", {times(w, with), taken}, {g.InputGrad(slot)});
  };
  other(v, wv, kOutGrad);
  other(dy, wg, kV);
}

void DefineSoftmaxGradGrad(OpDef& op) {
  op.Comment(
        "What softmax_grad gives its input Out: V * (Out@GRAD - sum(Out@GRAD * Out)) - Out@GRAD * "
        "sum(V * Out).")
      .Input(kOut, "Out", "result of softmax")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Input(kV, "X@GRAD@GRAD", "shape of Out")
      .Output(kResult, "Out@GRAD@GRAD", "shape of Out")
      .AttrsOf("softmax")
      .SameShape(kOut, kResult)
      .Grad(SoftmaxGradGradRecipe);
}

template <class T>
struct SoftmaxGradGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& y = ctx.In(kOut);
    kernels::SoftmaxGradGrad(y.data<T>(), ctx.In(kOutGrad).data<T>(), ctx.In(kV).data<T>(),
                             ShapeOf(y.dims(), ctx.attrs<SoftmaxAttrs>().axis),
                             ctx.Out(kResult).mutable_data<T>());
  }
};
}  // namespace grad_grad

REGISTER_GRADIENT_SHAPES(softmax, {"X", "Out"});
REGISTER_OPERATOR(softmax, DefineSoftmax);
REGISTER_LOD_RULE(softmax,
                  [](const LoDCall& c) { return c.IsBehindFirst(c.attrs<SoftmaxAttrs>().axis); });
REGISTER_KERNELS(softmax, SoftmaxKernel, float, double);
REGISTER_DEVICE_TYPES(softmax, SoftmaxKernel, float16, bfloat16);
REGISTER_OPERATOR(softmax_grad, grad::DefineSoftmaxGrad);
REGISTER_KERNELS(softmax_grad, grad::SoftmaxGradKernel, float, double);
REGISTER_DEVICE_TYPES(softmax_grad, grad::SoftmaxGradKernel, float16, bfloat16);
REGISTER_OPERATOR(softmax_grad_grad, grad_grad::DefineSoftmaxGradGrad);
REGISTER_KERNELS(softmax_grad_grad, grad_grad::SoftmaxGradGradKernel, float, double);

}  // namespace
}  // namespace dygraph

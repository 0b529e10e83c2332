#include "kernels/softmax.h"
#include "op/gradient_call.h"
#include "op/gradient_shapes.h"
#include "op/lod_rule.h"
#include "operators/activation/row_sum.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

struct LogSoftmaxAttrs {
  int32_t axis = -1;
};

void InferShape(InferContext& ctx) {
  NormalizeAxis(ctx.attrs<LogSoftmaxAttrs>().axis, ctx.rank(kX));
  ctx.SetOutput(kOut, ctx.dims(kX));
}

void DefineLogSoftmax(OpDef& op) {
  op.Comment("Out = X - log(sum(exp(X))), the sum along axis: the logarithm of softmax.")
      .Example(
          ">>> out = F.log_softmax(to_variable([[1.0, 1.0], [0.0, 100.0]]))\n"
          ">>> [[round(v, 4) for v in row] for row in out.tolist()]\n"
          "[[-0.6931, -0.6931], [-100.0, 0.0]]")
      .Input(kX, "X", "any shape")
      .Output(kOut, "Out", "shape of X")
      .Attr(&LogSoftmaxAttrs::axis, "axis", "the axis of one distribution, -rank <= axis < rank")
      .Shape(InferShape)
      .ShareLoD(kX)
      .InPlace(kX, kOut)
      .Grad(CallGradient);
}

template <class T>
struct LogSoftmaxKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    kernels::LogSoftmax(x.data<T>(), ShapeOf(x.dims(), ctx.attrs<LogSoftmaxAttrs>().axis),
                        ctx.Out(kOut).mutable_data<T>());
  }
};

namespace grad {
constexpr int kOut = 0, kOutGrad = 1, kXGrad = 0;

void DefineLogSoftmaxGrad(OpDef& op) {
  op.Comment("X@GRAD = Out@GRAD - exp(Out) * sum(Out@GRAD), the sum along axis.")
      .Input(kOut, "Out", "result of log_softmax")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of Out")
      .AttrsOf("log_softmax")
      .SameShape(kOut, kXGrad)
      .InPlace(kOutGrad, kXGrad)
      .Grad([](GradBuilder& g) {
        RecipeRef v = g.OutputGrad(kXGrad), p = g.Apply("exp", {g.Input(kOut)});
        g.Call("elementwise_sub", {v, RowDot<LogSoftmaxAttrs>(g, v, p)}, {g.InputGrad(kOutGrad)});
        RecipeRef total = RowSum<LogSoftmaxAttrs>(g, g.Input(kOutGrad));
        RecipeRef weighted = g.Apply("elementwise_mul", {v, p}), product = g.Temp();
        g.Call("elementwise_mul", {weighted, total}, {product});
        g.Call("scale", {product}, {g.InputGrad(kOut)}).Attr("scale", -1.0f);
      });
}

template <class T>
struct LogSoftmaxGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& y = ctx.In(kOut);
    kernels::LogSoftmaxGrad(y.data<T>(), ctx.In(kOutGrad).data<T>(),
                            ShapeOf(y.dims(), ctx.attrs<LogSoftmaxAttrs>().axis),
                            ctx.Out(kXGrad).mutable_data<T>());
  }
};
}  // namespace grad

REGISTER_GRADIENT_SHAPES(log_softmax, {"X", "Out"});
REGISTER_OPERATOR(log_softmax, DefineLogSoftmax);
REGISTER_LOD_RULE(log_softmax, [](const LoDCall& c) {
  return c.IsBehindFirst(c.attrs<LogSoftmaxAttrs>().axis);
});
REGISTER_KERNELS(log_softmax, LogSoftmaxKernel, float, double);
REGISTER_DEVICE_TYPES(log_softmax, LogSoftmaxKernel, float16, bfloat16);
REGISTER_OPERATOR(log_softmax_grad, grad::DefineLogSoftmaxGrad);
REGISTER_KERNELS(log_softmax_grad, grad::LogSoftmaxGradKernel, float, double);
REGISTER_DEVICE_TYPES(log_softmax_grad, grad::LogSoftmaxGradKernel, float16, bfloat16);

}  // namespace
}  // namespace dygraph

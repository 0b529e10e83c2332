#include <string>

#include "op/gradient_call.h"
#include "op/op_registry.h"
#include "operators/activation/slope_loops.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kAlpha = 1, kOut = 0;

struct PreluAttrs {
  std::string mode = "all";
  std::string data_format = "NCHW";
  bool last() const { return data_format == "NHWC"; }
};

Slopes SlopesOf(const Dims& x, const PreluAttrs& a) {
  if (a.mode == "all") return {1, 1, Numel(x)};
  if (a.mode == "channel" && a.last()) return {Numel(x, 0, x.rank() - 1), x.back(), 1};
  if (a.mode == "channel") return {x[0], x[1], Numel(x, 2, x.rank())};
  return {x[0], Numel(x, 1, x.rank()), 1};
}

void InferShape(InferContext& ctx) {
  const Dims &x = ctx.dims(kX), &alpha = ctx.dims(kAlpha);
  const PreluAttrs& a = ctx.attrs<PreluAttrs>();
  const std::string& mode = a.mode;
  int least = mode == "all" ? 0 : mode == "channel" ? 2 : 1;
  ENFORCE(x.rank() >= least, InvalidArgument, "X must have at least ", least,
          " axes where mode is '", mode, "', got shape ", x);
  int channels = a.last() ? x.rank() - 1 : 1;
  Dims counted;  // the axes that slopes are for
  for (int i = 1; i < x.rank(); ++i) {
    if (mode == "element" || (mode == "channel" && i == channels)) counted.push_back(x[i]);
  }
  if (!alpha.HasUnknown() && !counted.HasUnknown()) {
    ENFORCE(Numel(alpha) == Numel(counted), InvalidArgument,
            "Alpha must hold a slope for each element of ", counted, " where mode is '", mode,
            "' and X ", x, ", got shape ", alpha);
  }
  ctx.SetOutput(kOut, x);
}

void DefinePrelu(OpDef& op) {
  op.Comment(
        "Out = X where X > 0, else Alpha * X. Alpha holds one slope for all, one for each channel "
        "(axis 1, or the last with data_format NHWC) or one for each element of a sample. He et "
        "al., 2015.")
      .Example(
          ">>> F.prelu(to_variable([[1.0, -2.0]]), to_variable([0.25])).tolist()\n"
          "[[1.0, -0.5]]")
      .Input(kX, "X", "[N, ...]; for mode 'channel' [N, C, ...] or [N, ..., C]")
      .Input(kAlpha, "Alpha", "the slopes: 1, C or as many elements as a sample has")
      .Output(kOut, "Out", "shape of X")
      .Attr(&PreluAttrs::mode, "mode", "what a slope is for", OneOf({"all", "channel", "element"}))
      .Attr(&PreluAttrs::data_format, "data_format", "NHWC: the channels are last, at any rank",
            OneOf({"NCHW", "NHWC"}))
      .Shape(InferShape)
      .ShareLoD(kX)
      .Grad(CallGradient);
}

template <class T>
struct PreluKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    const T *from = x.data<T>(), *alpha = ctx.In(kAlpha).data<T>();
    T* to = ctx.Out(kOut).mutable_data<T>();
    ForEachSlope(
        SlopesOf(x.dims(), ctx.attrs<PreluAttrs>()), alpha,
        [=] DYGRAPH_FN(int64_t i, T a) { to[i] = from[i] > T(0) ? from[i] : a * from[i]; });
  }
};

namespace grad {
constexpr int kX = 0, kAlpha = 1, kOutGrad = 2, kXGrad = 0, kAlphaGrad = 1;

// With W for X@GRAD and V for Alpha@GRAD: Out@GRAD gets the slope times W and, where X <= 0, V * X;
// X gets V * Out@GRAD where X <= 0; Alpha gets the sums of Out@GRAD * W where X <= 0. "Where X <=
// 0" is what prelu adds to relu.
void PreluGradRecipe(GradBuilder& g) {
  RecipeRef x = g.Input(kX), alpha = g.Input(kAlpha), dout = g.Input(kOutGrad);
  RecipeRef w = g.OutputGrad(kXGrad), v = g.OutputGrad(kAlphaGrad);
  RecipeRef sloped = g.Temp(), bent = g.Temp(), to_x = g.Temp(), sums = g.Temp();
  g.Call("prelu_grad", {x, alpha, w}, {sloped, {}}).SameAttrs();
  g.Call("prelu", {x, v}, {bent}).SameAttrs();
  RecipeRef below = g.Apply("elementwise_sub", {bent, g.Apply("relu", {x})});
  g.Call("sum", {RecipeSlot({sloped, below})}, {g.InputGrad(kOutGrad)});
  g.Call("prelu_grad", {x, v, dout}, {to_x, {}}).SameAttrs();
  g.Call("elementwise_sub", {to_x, g.Apply("relu_grad", {x, dout})}, {g.InputGrad(kX)});
  g.Call("prelu_grad", {g.Apply("sign", {x}), alpha, g.Apply("elementwise_mul", {dout, w})},
         {{}, sums})
      .SameAttrs();
  g.Call("scale", {sums}, {g.InputGrad(kAlpha)}).Attr("scale", -1.0f);
}

void DefinePreluGrad(OpDef& op) {
  op.Comment(
        "X@GRAD = Out@GRAD where X > 0, else Alpha * Out@GRAD; Alpha@GRAD = the sums of X * "
        "Out@GRAD where X <= 0.")
      .Input(kX, "X", "input of prelu")
      .Input(kAlpha, "Alpha", "the slopes")
      .Input(kOutGrad, "Out@GRAD", "shape of X")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .Output(kAlphaGrad, "Alpha@GRAD", "shape of Alpha")
      .AttrsOf("prelu")
      .Shape([](InferContext& ctx) {
        ctx.SetOutput(kXGrad, ctx.dims(kX), ctx.dtype(kX));
        ctx.SetOutput(kAlphaGrad, ctx.dims(kAlpha), ctx.dtype(kAlpha));
      })
      .Grad(PreluGradRecipe);
}

template <class T>
struct PreluGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    const T *from = x.data<T>(), *alpha = ctx.In(kAlpha).data<T>();
    const T* g = ctx.In(kOutGrad).data<T>();
    const Slopes s = SlopesOf(x.dims(), ctx.attrs<PreluAttrs>());
    if (Tensor* out = ctx.OutOrNull(kXGrad)) {
      T* to = out->mutable_data<T>();
      ForEachSlope(s, alpha,
                   [=] DYGRAPH_FN(int64_t i, T a) { to[i] = from[i] > T(0) ? g[i] : a * g[i]; });
    }
    if (Tensor* out = ctx.OutOrNull(kAlphaGrad)) {
      SumBySlope(s, out->mutable_data<T>(), [=] DYGRAPH_FN(int64_t i) {
        return from[i] > T(0) ? 0.0 : static_cast<double>(from[i]) * g[i];
      });
    }
  }
};
}  // namespace grad

REGISTER_OPERATOR(prelu, DefinePrelu);
REGISTER_KERNELS(prelu, PreluKernel, float, double);
REGISTER_OPERATOR(prelu_grad, grad::DefinePreluGrad);
REGISTER_KERNELS(prelu_grad, grad::PreluGradKernel, float, double);

}  // namespace
}  // namespace dygraph

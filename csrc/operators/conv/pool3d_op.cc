#include "kernels/pool_volume.h"
#include "operators/channels.h"
#include "operators/conv/pooling.h"

namespace dygraph {
namespace {

using PoolAttrs = pool::Attrs<3>;
constexpr int kX = 0, kOut = 0;

void InferShape(InferContext& ctx) {
  ctx.SetOutput(kOut, pool::OutDims(ctx.dims(kX), ctx.attrs<PoolAttrs>()));
}

kernels::PoolVolume ShapeOf(const Dims& x, const PoolAttrs& a) {
  pool::Axes<3> axes = pool::Describe(x, a);
  window::ImageDims in(x, a.channels_last());
  return {in.n * in.c, pool::Windows(axes[0], a), pool::Windows(axes[1], a),
          pool::Windows(axes[2], a)};
}

void DefinePool3d(OpDef& op) {
  op.Comment(
        "Out[n, c, i, j, k] = max or average of X[n, c] over the window at (i * stride - pad, j * "
        "stride - pad, k * stride - pad). The gradient of a maximum goes to the first of equals.")
      .Example(
          ">>> x = to_variable(np.arange(8.0).reshape(1, 1, 2, 2, 2))\n"
          ">>> F.pool3d(x, ksize=[1, 2, 2]).tolist()\n"
          "[[[[[3.0]], [[7.0]]]]]\n"
          ">>> F.pool3d(x, global_pooling=True, pooling_type=\"avg\").tolist()\n"
          "[[[[[3.5]]]]]")
      .Input(kX, "X", "[N, C, D, H, W], or [N, D, H, W, C] with data_format NDHWC")
      .Output(kOut, "Out", "[N, C, D', H', W'], or [N, D', H', W', C]");
  pool::AllAttrs<3>(op).Shape(InferShape).ShareLoD(kX).Grad([](GradBuilder& g) {
    bool max = g.attrs<PoolAttrs>().max();
    g.Call("pool3d_grad", {max ? g.Input(kX) : g.InputShape(kX), g.OutputGrad(kOut)},
           {g.InputGrad(kX)})
        .SameAttrs();
  });
}

Scratch Positions(KernelContext& ctx, int64_t n) {
  return ctx.Workspace(static_cast<size_t>(n) * sizeof(int32_t));
}

template <class T>
struct Pool3dKernel {
  static void Compute(KernelContext& ctx) {
    const PoolAttrs& a = ctx.attrs<PoolAttrs>();
    Tensor x = channels::Second(ctx.In(kX), a.channels_last());
    channels::Result<T> y(&ctx.Out(kOut), a.channels_last());
    kernels::PoolVolume s = ShapeOf(ctx.In(kX).dims(), a);
    if (a.max()) {
      Scratch at = Positions(ctx, ctx.Out(kOut).numel());
      kernels::MaxPoolVolume<T>(x.data<T>(), s, y.data(), at.as<int32_t>());
    } else {
      kernels::AvgPoolVolume<T>(x.data<T>(), s, y.data());
    }
    y.Finish();
  }
};

namespace grad {
constexpr int kX = 0, kOutGrad = 1, kXGrad = 0;

void DefinePool3dGrad(OpDef& op) {
  op.Comment(
        "X@GRAD: each Out@GRAD goes to the first maximum of its window, or evenly to what was "
        "averaged.")
      .Input(kX, "X", "its shape; its values for a maximum")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf("pool3d")
      .KernelDTypeOf(kOutGrad)
      .SameShape(kX, kXGrad)
      .Grad([](GradBuilder& g) {  // linear in Out@GRAD; flat in X
        if (g.attrs<PoolAttrs>().max()) {
          g.Call("pool3d_grad_grad", {g.Input(kX), g.OutputGrad(kXGrad)}, {g.InputGrad(kOutGrad)})
              .SameAttrs();
        } else {
          g.Call("pool3d", {g.OutputGrad(kXGrad)}, {g.InputGrad(kOutGrad)}).SameAttrs();
        }
      });
}

template <class T>
struct Pool3dGradKernel {
  static void Compute(KernelContext& ctx) {
    const PoolAttrs& a = ctx.attrs<PoolAttrs>();
    Tensor dy = channels::Second(ctx.In(kOutGrad), a.channels_last());
    channels::Result<T> dx(&ctx.Out(kXGrad), a.channels_last());
    kernels::PoolVolume s = ShapeOf(ctx.In(kX).dims(), a);
    if (a.max()) {
      Tensor x = channels::Second(ctx.In(kX), a.channels_last());
      Scratch at = Positions(ctx, dy.numel());
      kernels::MaxPoolVolume<T>(x.data<T>(), s, nullptr, at.as<int32_t>());
      kernels::ScatterVolume(dy.data<T>(), at.as<int32_t>(), s, dx.data());
    } else {
      kernels::AvgPoolVolumeBackward<T>(dy.data<T>(), s, dx.data());
    }
    dx.Finish();
  }
};
}  // namespace grad

namespace grad_grad {
constexpr int kX = 0, kV = 1, kResult = 0;

void DefinePool3dGradGrad(OpDef& op) {
  op.Comment(
        "What pool3d_grad of a maximum gives Out@GRAD: V at the first maximum of each window of X.")
      .Input(kX, "X", "as of the forward call")
      .Input(kV, "X@GRAD@GRAD", "shape of X")
      .Output(kResult, "Out@GRAD@GRAD", "shape of Out")
      .AttrsOf("pool3d")
      .Shape(InferShape)
      .Grad([](GradBuilder& g) {
        g.Call("pool3d_grad", {g.Input(kX), g.OutputGrad(kResult)}, {g.InputGrad(kV)}).SameAttrs();
      });
}

template <class T>
struct Pool3dGradGradKernel {
  static void Compute(KernelContext& ctx) {
    const PoolAttrs& a = ctx.attrs<PoolAttrs>();
    Tensor x = channels::Second(ctx.In(kX), a.channels_last());
    Tensor v = channels::Second(ctx.In(kV), a.channels_last());
    kernels::PoolVolume s = ShapeOf(ctx.In(kX).dims(), a);
    channels::Result<T> y(&ctx.Out(kResult), a.channels_last());
    Scratch at = Positions(ctx, ctx.Out(kResult).numel());
    kernels::MaxPoolVolume<T>(x.data<T>(), s, nullptr, at.as<int32_t>());
    kernels::GatherVolume(v.data<T>(), at.as<int32_t>(), s, y.data());
    y.Finish();
  }
};
}  // namespace grad_grad

REGISTER_OPERATOR(pool3d, DefinePool3d);
REGISTER_KERNELS(pool3d, Pool3dKernel, float, double);
REGISTER_OPERATOR(pool3d_grad, grad::DefinePool3dGrad);
REGISTER_KERNELS(pool3d_grad, grad::Pool3dGradKernel, float, double);
REGISTER_OPERATOR(pool3d_grad_grad, grad_grad::DefinePool3dGradGrad);
REGISTER_KERNELS(pool3d_grad_grad, grad_grad::Pool3dGradGradKernel, float, double);

}  // namespace
}  // namespace dygraph

#include "op/open_attr.h"
#include "operators/conv/pooling.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

using PoolAttrs = pool::Attrs<2>;

void InferShape(InferContext& ctx) {
  const PoolAttrs& a = ctx.attrs<PoolAttrs>();
  if (ctx.runtime() || a.global_pooling || !IsOpen(a.ksize))
    return ctx.SetOutput(kOut, pool::OutDims(ctx.dims(kX), a));
  PoolAttrs all = a;  // its checks of X
  all.global_pooling = true;
  Dims out = pool::OutDims(ctx.dims(kX), all);
  window::CheckCount("ksize", a.ksize, 2);
  for (int i = 0; i < 2; ++i) out[(a.channels_last() ? 1 : 2) + i] = -1;
  ctx.SetOutput(kOut, out);
}

// The loops' view of X: NCHW data is n * c images of one channel.
kernels::PoolShape ShapeOf(const Tensor& x, const PoolAttrs& a) {
  pool::Axes<2> axes = pool::Describe(x.dims(), a);
  window::ImageDims in(x.dims(), a.channels_last());
  bool last = a.channels_last() || x.layout() == Layout::kNHWC;
  return {last ? in.n : in.n * in.c, last ? in.c : 1, pool::Windows(axes[0], a),
          pool::Windows(axes[1], a)};
}

// Channels-last data of a tensor whose data_format says so already is a mixture the loops do not
// know.
bool Mixed(const Tensor& x, const PoolAttrs& a) {
  return a.channels_last() && x.layout() == Layout::kNHWC;
}
Tensor Ordered(const Tensor& x, const PoolAttrs& a) { return Mixed(x, a) ? x.Plain() : x; }
template <class T>
T* OrderedOut(Tensor* out, const PoolAttrs& a) {
  if (Mixed(*out, a)) out->Allocate(Dims(out->dims()), out->dtype(), out->place());
  return out->mutable_data<T>();
}

void DefinePool2d(OpDef& op) {
  op.Comment(
        "Out[n, c, i, j] = max or average of X[n, c] over the window at (i * stride - pad, j * "
        "stride - pad). The gradient of a "
        "maximum goes to the first of equals.")
      .Example(
          ">>> x = to_variable([[[[1.0, 5.0, 2.0, 0.0], [3.0, 4.0, 7.0, 6.0]]]])\n"
          ">>> F.pool2d(x, ksize=[2, 2], strides=[2, 2]).tolist()\n"
          "[[[[5.0, 7.0]]]]\n"
          ">>> F.pool2d(x, ksize=[2, 2], strides=[2, 2], pooling_type=\"avg\").tolist()\n"
          "[[[[3.25, 3.75]]]]")
      .Input(kX, "X", "[N, C, H, W], or [N, H, W, C] with data_format NHWC")
      .Output(kOut, "Out", "[N, C, H', W'], or [N, H', W', C]");
  pool::AllAttrs<2>(op).Shape(InferShape).KeepsLayout().ShareLoD(kX).Grad([](GradBuilder& g) {
    bool max = g.attrs<PoolAttrs>().max();
    g.Call("pool2d_grad", {max ? g.Input(kX) : g.InputShape(kX), g.OutputGrad(kOut)},
           {g.InputGrad(kX)})
        .SameAttrs();
  });
}

template <class T>
struct Pool2dKernel {
  static void Compute(KernelContext& ctx) {
    const PoolAttrs& a = ctx.attrs<PoolAttrs>();
    Tensor x = Ordered(ctx.In(kX), a);
    kernels::PoolShape s = ShapeOf(x, a);
    T* y = OrderedOut<T>(&ctx.Out(kOut), a);
    a.max() ? kernels::MaxPool(x.data<T>(), s, y) : kernels::AvgPool(x.data<T>(), s, y);
  }
};

namespace grad {
constexpr int kX = 0, kOutGrad = 1, kXGrad = 0;

void DefinePool2dGrad(OpDef& op) {
  op.Comment(
        "X@GRAD: each Out@GRAD goes to the first maximum of its window, or evenly to the pixels "
        "averaged.")
      .Input(kX, "X", "its shape; its values for a maximum")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf("pool2d")
      .KernelDTypeOf(kOutGrad)
      .SameShape(kX, kXGrad)
      .KeepsLayout(true)
      .Grad([](GradBuilder& g) {  // linear in Out@GRAD; flat in X
        if (g.attrs<PoolAttrs>().max()) {
          g.Call("pool2d_grad_grad", {g.Input(kX), g.OutputGrad(kXGrad)}, {g.InputGrad(kOutGrad)})
              .SameAttrs();
        } else {
          g.Call("pool2d", {g.OutputGrad(kXGrad)}, {g.InputGrad(kOutGrad)}).SameAttrs();
        }
      });
}

template <class T>
struct Pool2dGradKernel {
  static void Compute(KernelContext& ctx) {
    const PoolAttrs& a = ctx.attrs<PoolAttrs>();
    Tensor x = Ordered(ctx.In(kX), a), dy = Ordered(ctx.In(kOutGrad), a);
    kernels::PoolShape s = ShapeOf(x, a);
    T* dx = OrderedOut<T>(&ctx.Out(kXGrad), a);
    a.max() ? kernels::MaxPoolBackward(x.data<T>(), dy.data<T>(), s, dx)
            : kernels::AvgPoolBackward(dy.data<T>(), s, dx);
  }
};
}  // namespace grad

namespace grad_grad {
constexpr int kX = 0, kV = 1, kResult = 0;

void DefinePool2dGradGrad(OpDef& op) {
  op.Comment(
        "What pool2d_grad of a maximum gives Out@GRAD: V at the first maximum of each window of X.")
      .Input(kX, "X", "as of the forward call")
      .Input(kV, "X@GRAD@GRAD", "shape of X")
      .Output(kResult, "Out@GRAD@GRAD", "shape of Out")
      .AttrsOf("pool2d")
      .Shape(InferShape)
      .KeepsLayout()
      .Grad([](GradBuilder& g) {
        g.Call("pool2d_grad", {g.Input(kX), g.OutputGrad(kResult)}, {g.InputGrad(kV)}).SameAttrs();
      });
}

template <class T>
struct Pool2dGradGradKernel {
  static void Compute(KernelContext& ctx) {
    const PoolAttrs& a = ctx.attrs<PoolAttrs>();
    Tensor x = Ordered(ctx.In(kX), a), v = Ordered(ctx.In(kV), a);
    kernels::PoolShape s = ShapeOf(x, a);
    T* to = OrderedOut<T>(&ctx.Out(kResult), a);
    int64_t n = ctx.Out(kResult).numel();
    Scratch index = ctx.Workspace(static_cast<size_t>(n) * sizeof(int32_t));
    kernels::MaxPool(x.data<T>(), s, to, index.as<int32_t>());
    kernels::MaxPoolGather(v.data<T>(), index.as<int32_t>(), s, to);
  }
};
}  // namespace grad_grad

REGISTER_OPERATOR(pool2d, DefinePool2d);
REGISTER_OPEN_ATTRS(pool2d, "ksize");
REGISTER_KERNELS(pool2d, Pool2dKernel, float, double);
REGISTER_DEVICE_TYPES(pool2d, Pool2dKernel, float16, bfloat16);
REGISTER_OPERATOR(pool2d_grad, grad::DefinePool2dGrad);
REGISTER_KERNELS(pool2d_grad, grad::Pool2dGradKernel, float, double);
REGISTER_DEVICE_TYPES(pool2d_grad, grad::Pool2dGradKernel, float16, bfloat16);
REGISTER_OPERATOR(pool2d_grad_grad, grad_grad::DefinePool2dGradGrad);
REGISTER_KERNELS(pool2d_grad_grad, grad_grad::Pool2dGradGradKernel, float, double);

}  // namespace
}  // namespace dygraph

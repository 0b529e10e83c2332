#include "kernels/pool.h"
#include "operators/window.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

struct PoolAttrs {
  std::string pooling_type = "max";
  std::vector<int32_t> ksize;
  bool global_pooling = false;
  std::vector<int32_t> strides = {1, 1};
  std::vector<int32_t> paddings = {0, 0};
  bool exclusive = true;
  bool adaptive = false;
  bool ceil_mode = false;
  std::string data_format = "NCHW";
  std::string padding_algorithm = "EXPLICIT";
  bool channels_last() const { return data_format == "NHWC"; }
  bool max() const { return pooling_type == "max"; }
};

struct Geometry {
  window::Axis h, w;
};

Geometry Describe(const Dims& x, const PoolAttrs& a) {
  ENFORCE(x.rank() == 4, InvalidArgument, "X must have 4 axes, ",
          a.channels_last() ? "NHWC" : "NCHW", ", got shape ", x);
  window::ImageDims in(x, a.channels_last());
  Geometry g;
  g.h.size = in.h;
  g.w.size = in.w;
  if (a.global_pooling) {
    g.h.kernel = in.h;
    g.w.kernel = in.w;
    return g;
  }
  window::CheckPair("ksize", a.ksize);
  window::CheckPair("strides", a.strides);
  ENFORCE(a.ksize[0] > 0 && a.ksize[1] > 0, InvalidArgument,
          "ksize must be positive unless global_pooling is set, got [", a.ksize[0], ", ",
          a.ksize[1], "]");
  g.h.kernel = a.ksize[0];
  g.w.kernel = a.ksize[1];
  if (a.adaptive) return g;
  g.h.stride = a.strides[0];
  g.w.stride = a.strides[1];
  window::SetPaddings(a.paddings, a.padding_algorithm, &g.h, &g.w);
  for (const window::Axis* axis : {&g.h, &g.w}) {
    ENFORCE(std::max(axis->before, axis->after) < axis->kernel, InvalidArgument,
            "paddings must be smaller than ksize, got ", std::max(axis->before, axis->after),
            " and ", axis->kernel, ": a window would see padding only");
  }
  window::CheckAxis("height", g.h);
  window::CheckAxis("width", g.w);
  return g;
}

void InferShape(InferContext& ctx) {
  const PoolAttrs& a = ctx.attrs<PoolAttrs>();
  const Dims& x = ctx.dims(kX);
  Geometry g = Describe(x, a);
  window::ImageDims in(x, a.channels_last());
  int64_t h = g.h.kernel, w = g.w.kernel;  // adaptive: ksize is the output's size
  if (a.global_pooling) {
    h = w = 1;
  } else if (!a.adaptive) {
    h = g.h.Out(a.ceil_mode);
    w = g.w.Out(a.ceil_mode);
  }
  ctx.SetOutput(kOut, window::MakeImageDims(in.n, in.c, h, w, a.channels_last()));
}

// The loops' view of X: NCHW data is n * c images of one channel.
kernels::PoolShape ShapeOf(const Tensor& x, const PoolAttrs& a) {
  Geometry g = Describe(x.dims(), a);
  window::ImageDims in(x.dims(), a.channels_last());
  bool last = a.channels_last() || x.layout() == Layout::kNHWC;
  auto axis = [&](const window::Axis& v) {
    if (a.global_pooling) return kernels::AdaptiveWindows(v.size, 1);
    if (a.adaptive) return kernels::AdaptiveWindows(v.size, v.kernel);
    return kernels::SlidingWindows(v.size, v.Out(a.ceil_mode), v.kernel, v.stride, v.before,
                                   a.exclusive);
  };
  return {last ? in.n : in.n * in.c, last ? in.c : 1, axis(g.h), axis(g.w)};
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
      .Input(kX, "X", "[N, C, H, W], or [N, H, W, C] with data_format NHWC")
      .Output(kOut, "Out", "[N, C, H', W'], or [N, H', W', C]")
      .Attr(&PoolAttrs::pooling_type, "pooling_type", "max or avg", OneOf({"max", "avg"}))
      .Attr(&PoolAttrs::ksize, "ksize",
            "the window, or with adaptive the output's size, [height, width]")
      .Attr(&PoolAttrs::global_pooling, "global_pooling",
            "one window over the whole image; ksize and paddings do not count")
      .Attr(&PoolAttrs::strides, "strides", "of the window, [height, width]", EachAtLeast(1))
      .Attr(&PoolAttrs::paddings, "paddings", "[height, width] or [top, bottom, left, right]",
            EachAtLeast(0))
      .Attr(&PoolAttrs::exclusive, "exclusive", "an average does not count padding")
      .Attr(&PoolAttrs::adaptive, "adaptive", "windows share the image out evenly")
      .Attr(&PoolAttrs::ceil_mode, "ceil_mode", "a last window may reach beyond the padding")
      .Attr(&PoolAttrs::data_format, "data_format", "the order of the axes",
            OneOf({"NCHW", "NHWC", "AnyLayout"}))
      .Attr(&PoolAttrs::padding_algorithm, "padding_algorithm", "SAME and VALID replace paddings",
            OneOf({"EXPLICIT", "SAME", "VALID"}))
      .Shape(InferShape)
      .KeepsLayout()
      .Grad([](GradBuilder& g) {
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
REGISTER_CPU_KERNEL(pool2d, Pool2dKernel, float, double);
REGISTER_OPERATOR(pool2d_grad, grad::DefinePool2dGrad);
REGISTER_CPU_KERNEL(pool2d_grad, grad::Pool2dGradKernel, float, double);
REGISTER_OPERATOR(pool2d_grad_grad, grad_grad::DefinePool2dGradGrad);
REGISTER_CPU_KERNEL(pool2d_grad_grad, grad_grad::Pool2dGradGradKernel, float, double);

}  // namespace
}  // namespace dygraph

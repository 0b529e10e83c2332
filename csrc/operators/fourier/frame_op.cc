#include "operators/fourier/framing_loops.h"

namespace dygraph::fourier {
namespace {

struct FrameAttrs {
  int32_t frame_length = 1;
  int32_t hop_length = 1;
  int32_t axis = -1;
};

Dims OutDims(const FrameAttrs& a, const Dims& x) {
  ENFORCE(x.rank() >= 1, InvalidArgument, "X must have an axis, got shape ", x);
  const bool last = a.axis == -1;
  const int64_t n = last ? x.back() : x[0], length = a.frame_length;
  ENFORCE(n < 0 || length <= n, InvalidArgument, "frame_length must be at most the ", n,
          " numbers of the axis, got ", length, ". Pad X");
  const int64_t count = n < 0 ? -1 : (n - length) / a.hop_length + 1;
  Dims out;
  if (!last) out.push_back(count);
  if (!last) out.push_back(length);
  for (int i = last ? 0 : 1; i < x.rank() - (last ? 1 : 0); ++i) out.push_back(x[i]);
  if (last) out.push_back(length);
  if (last) out.push_back(count);
  return out;
}

void DefineFrame(OpDef& op) {
  op.Comment(
        "Out = frames of X: frame f has the numbers from f * hop_length on. Numbers behind the "
        "last whole frame are left out.")
      .Example(
          ">>> F.frame(to_variable([1.0, 2.0, 3.0, 4.0]), frame_length=2, hop_length=1).tolist()\n"
          "[[1.0, 2.0, 3.0], [2.0, 3.0, 4.0]]")
      .Input(kSignal, "X", "[..., n], or [n, ...] with axis 0")
      .Output(kFrames, "Out", "[..., frame_length, frames]; [frames, frame_length, ...]")
      .Attr(&FrameAttrs::frame_length, "frame_length", "how many numbers a frame has", AtLeast(1))
      .Attr(&FrameAttrs::hop_length, "hop_length", "from one frame to the next", AtLeast(1))
      .Attr(&FrameAttrs::axis, "axis", "-1: the last axis; 0: the first", IsFirstOrLast())
      .Shape([](InferContext& ctx) {
        ctx.SetOutput(kFrames, OutDims(ctx.attrs<FrameAttrs>(), ctx.dims(kSignal)));
      })
      .ShareLoD(kSignal)
      .Grad([](GradBuilder& g) {
        g.Call("frame_grad", {g.InputShape(kSignal), g.OutputGrad(kFrames)}, {g.InputGrad(kSignal)})
            .SameAttrs();
      });
}

template <class T>
struct FrameKernel {
  static void Compute(KernelContext& ctx) {
    const FrameAttrs& a = ctx.attrs<FrameAttrs>();
    const Tensor& x = ctx.In(kSignal);
    Tensor& out = ctx.Out(kFrames);
    if (out.numel() == 0) return;
    Cut<T>(Framing(x.dims(), out.dims(), a.hop_length, a.axis == -1), x.data<T>(),
           out.mutable_data<T>());
  }
};

namespace grad {
constexpr int kX = 0, kOutGrad = 1, kXGrad = 0;

void DefineFrameGrad(OpDef& op) {
  op.Comment("X@GRAD = the sum of what all frames have of each number, 0 for one that none has.")
      .Input(kX, "X", "its shape", kShapeOnly)
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf("frame")
      .SameShape(kX, kXGrad)
      .KernelDTypeOf(kOutGrad)
      .Grad([](GradBuilder& g) {
        g.Call("frame", {g.OutputGrad(kXGrad)}, {g.InputGrad(kOutGrad)}).SameAttrs();
      });
}

template <class T>
struct FrameGradKernel {
  static void Compute(KernelContext& ctx) {
    const FrameAttrs& a = ctx.attrs<FrameAttrs>();
    const Tensor& g = ctx.In(kOutGrad);
    Tensor& out = ctx.Out(kXGrad);
    AddUp<T>(Framing(out.dims(), g.dims(), a.hop_length, a.axis == -1), g.data<T>(),
             out.mutable_data<T>());
  }
};
}  // namespace grad

REGISTER_OPERATOR(frame, DefineFrame);
REGISTER_LOD_RULE(frame, [](const LoDCall& c) {
  return c.attrs<FrameAttrs>().axis == -1 && c.from.rank() > 1;
});
REGISTER_KERNELS(frame, FrameKernel, int32_t, int64_t, float, double, complex64, complex128);
REGISTER_OPERATOR(frame_grad, grad::DefineFrameGrad);
REGISTER_KERNELS(frame_grad, grad::FrameGradKernel, float, double, complex64, complex128);

}  // namespace
}  // namespace dygraph::fourier

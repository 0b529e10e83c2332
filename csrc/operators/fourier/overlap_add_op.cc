#include "operators/fourier/framing_loops.h"

namespace dygraph::fourier {
namespace {

struct OverlapAddAttrs {
  int32_t hop_length = 1;
  int32_t axis = -1;
};

Dims OutDims(const OverlapAddAttrs& a, const Dims& x) {
  ENFORCE(x.rank() >= 2, InvalidArgument,
          "X must have an axis of frames and one of their numbers, "
          "got shape ",
          x);
  const bool last = a.axis == -1;
  const int rank = x.rank();
  const int64_t length = x[last ? rank - 2 : 1], count = x[last ? rank - 1 : 0];
  ENFORCE(length != 0 && count != 0, InvalidArgument, "X must have frames and numbers, got shape ",
          x);
  const int64_t n = length < 0 || count < 0 ? -1 : (count - 1) * a.hop_length + length;
  Dims out;
  if (!last) out.push_back(n);
  for (int i = last ? 0 : 2; i < rank - (last ? 2 : 0); ++i) out.push_back(x[i]);
  if (last) out.push_back(n);
  return out;
}

void DefineOverlapAdd(OpDef& op) {
  op.Comment(
        "Out = the signal that frames add up to: number t of frame f is a term of number "
        "f * hop_length + t.")
      .Example(
          ">>> x = to_variable([[1.0, 2.0, 3.0], [2.0, 3.0, 4.0]])\n"
          ">>> F.overlap_add(x, hop_length=1).tolist()\n"
          "[1.0, 4.0, 6.0, 4.0]")
      .Input(kFrames, "X", "[..., frame_length, frames]; [frames, frame_length, ...] with axis 0")
      .Output(kSignal, "Out", "[..., (frames - 1) * hop_length + frame_length]; [that, ...]")
      .Attr(&OverlapAddAttrs::hop_length, "hop_length", "from one frame to the next", AtLeast(1))
      .Attr(&OverlapAddAttrs::axis, "axis", "-1: the last axis; 0: the first", IsFirstOrLast())
      .Shape([](InferContext& ctx) {
        ctx.SetOutput(kSignal, OutDims(ctx.attrs<OverlapAddAttrs>(), ctx.dims(kFrames)));
      })
      .ShareLoD(kFrames)
      .Grad([](GradBuilder& g) {
        g.Call("overlap_add_grad", {g.InputShape(kFrames), g.OutputGrad(kSignal)},
               {g.InputGrad(kFrames)})
            .SameAttrs();
      });
}

template <class T>
struct OverlapAddKernel {
  static void Compute(KernelContext& ctx) {
    const OverlapAddAttrs& a = ctx.attrs<OverlapAddAttrs>();
    const Tensor& x = ctx.In(kFrames);
    Tensor& out = ctx.Out(kSignal);
    AddUp<T>(Framing(out.dims(), x.dims(), a.hop_length, a.axis == -1), x.data<T>(),
             out.mutable_data<T>());
  }
};

namespace grad {
constexpr int kX = 0, kOutGrad = 1, kXGrad = 0;

void DefineOverlapAddGrad(OpDef& op) {
  op.Comment("X@GRAD = the frames of Out@GRAD.")
      .Input(kX, "X", "its shape", kShapeOnly)
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf("overlap_add")
      .SameShape(kX, kXGrad)
      .KernelDTypeOf(kOutGrad)
      .Grad([](GradBuilder& g) {
        g.Call("overlap_add", {g.OutputGrad(kXGrad)}, {g.InputGrad(kOutGrad)}).SameAttrs();
      });
}

template <class T>
struct OverlapAddGradKernel {
  static void Compute(KernelContext& ctx) {
    const OverlapAddAttrs& a = ctx.attrs<OverlapAddAttrs>();
    const Tensor& g = ctx.In(kOutGrad);
    Tensor& out = ctx.Out(kXGrad);
    if (out.numel() == 0) return;
    Cut<T>(Framing(g.dims(), out.dims(), a.hop_length, a.axis == -1), g.data<T>(),
           out.mutable_data<T>());
  }
};
}  // namespace grad

REGISTER_OPERATOR(overlap_add, DefineOverlapAdd);
REGISTER_LOD_RULE(overlap_add, [](const LoDCall& c) {
  return c.attrs<OverlapAddAttrs>().axis == -1 && c.from.rank() > 2;
});
REGISTER_KERNELS(overlap_add, OverlapAddKernel, int32_t, int64_t, float, double, complex64,
                 complex128);
REGISTER_OPERATOR(overlap_add_grad, grad::DefineOverlapAddGrad);
REGISTER_KERNELS(overlap_add_grad, grad::OverlapAddGradKernel, float, double, complex64,
                 complex128);

}  // namespace
}  // namespace dygraph::fourier

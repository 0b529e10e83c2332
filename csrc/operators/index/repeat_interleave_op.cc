#include "op/gradient_call.h"
#include "op/lod_rule.h"
#include "operators/index/repeated_slices.h"

namespace dygraph::indexing {
namespace {

constexpr int kX = 0, kRepeats = 1, kOut = 0;

void InferShape(InferContext& ctx) {
  Dims out = ctx.dims(kX);
  ENFORCE(!out.empty(), InvalidArgument, "X must have an axis to repeat along, got shape []");
  const int axis = NormalizeAxis(ctx.attrs<RepeatInterleaveAttrs>().dim, out.rank(), "dim");
  const Times times(ctx.call(), kRepeats, out[axis]);
  out[axis] = ctx.runtime() || ctx.InputCount(kRepeats) == 0 ? times.total : -1;
  ctx.SetOutput(kOut, out, ctx.dtype(kX));
}

void DefineRepeatInterleave(OpDef& op) {
  op.Comment("Out = the slices of X along dim, each of them several times in a row.")
      .Example(
          ">>> dygraph.repeat_interleave(to_variable([1, 2]), 2).tolist()\n"
          "[1, 1, 2, 2]\n"
          ">>> dygraph.repeat_interleave(to_variable([1, 2]), to_variable([0, 3])).tolist()\n"
          "[2, 2, 2]")
      .Input(kX, "X", "at least one axis")
      .Input(kRepeats, "RepeatsTensor", "int32 or int64, how often each, in place of Repeats",
             kDispensable | kOnHost)
      .Output(kOut, "Out", "shape of X, but along dim")
      .Attr(&RepeatInterleaveAttrs::repeats, "Repeats", "how often all of them")
      .Attr(&RepeatInterleaveAttrs::dim, "dim", "the axis; negative ones count from the end")
      .ShareLoD(kX)
      .Shape(InferShape)
      .KernelDTypeOf(kX)
      .MixedDTypes()
      .Grad(CallGradient);
}

template <class T>
struct RepeatInterleaveKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    const int axis = NormalizeAxis(ctx.attrs<RepeatInterleaveAttrs>().dim, x.rank());
    const Times times(ctx.call(), kRepeats, x.dim(axis));
    const int64_t width = Numel(x.dims(), axis + 1, x.rank());
    if (ctx.Out(kOut).numel() == 0) return;
    RepeatSlices(ctx, times, Numel(x.dims(), 0, axis), x.dim(axis), width, x.data<T>(),
                 ctx.Out(kOut).mutable_data<T>());
  }
};

namespace grad {
constexpr int kX = 0, kRepeats = 1, kOutGrad = 2, kXGrad = 0;

void DefineRepeatInterleaveGrad(OpDef& op) {
  op.Comment("X@GRAD = the sum of Out@GRAD over the copies of each slice.")
      .Input(kX, "X", "its shape", kShapeOnly)
      .Input(kRepeats, "RepeatsTensor", "as in the forward call", kDispensable | kOnHost)
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf("repeat_interleave")
      .SameShape(kX, kXGrad)
      .KernelDTypeOf(kOutGrad)
      .MixedDTypes()
      .Grad([](GradBuilder& g) {
        g.Call("repeat_interleave", {g.OutputGrad(kXGrad), g.Input(kRepeats)},
               {g.InputGrad(kOutGrad)})
            .SameAttrs();
      });
}

template <class T>
struct RepeatInterleaveGradKernel {
  static void Compute(KernelContext& ctx) {
    Tensor& out = ctx.Out(kXGrad);
    const Dims& x = out.dims();
    const int axis = NormalizeAxis(ctx.attrs<RepeatInterleaveAttrs>().dim, x.rank());
    const Times times(ctx.call(), kRepeats, x[axis]);
    const int64_t outer = Numel(x, 0, axis), width = Numel(x, axis + 1, x.rank());
    const Tensor& given = ctx.In(kOutGrad);
    ENFORCE(given.numel() == outer * times.total * width, InvalidArgument,
            "Out@GRAD must have the shape of X ", x, " with ", times.total, " along the axis, got ",
            given.dims());
    if (out.numel() == 0) return;
    SumSlices(ctx, times, outer, x[axis], width, given.data<T>(), out.mutable_data<T>());
  }
};
}  // namespace grad

REGISTER_OPERATOR(repeat_interleave, DefineRepeatInterleave);
REGISTER_LOD_RULE(repeat_interleave, [](const LoDCall& c) {
  return c.IsBehindFirst(c.attrs<RepeatInterleaveAttrs>().dim);
});
REGISTER_KERNELS(repeat_interleave, RepeatInterleaveKernel, bool, uint8_t, int8_t, int16_t, int32_t,
                 int64_t, float16, bfloat16, float, double);
REGISTER_OPERATOR(repeat_interleave_grad, grad::DefineRepeatInterleaveGrad);
REGISTER_KERNELS(repeat_interleave_grad, grad::RepeatInterleaveGradKernel, float, double);

}  // namespace
}  // namespace dygraph::indexing

#include "kernels/elementwise.h"
#include "op/gradient_call.h"
#include "op/op_registry.h"
#include "operators/activation/largest.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

struct MaxoutAttrs {
  int32_t groups = 1;
  int32_t axis = 1;
};

Dims OutShape(const InferContext& ctx) {
  const auto& a = ctx.attrs<MaxoutAttrs>();
  Dims out = ctx.dims(kX);
  ENFORCE(out.rank() >= 1, InvalidArgument, "X must have an axis of channels, got shape ", out);
  int axis = NormalizeAxis(a.axis, out.rank());
  ENFORCE(a.groups >= 1 && (out[axis] < 0 || out[axis] % a.groups == 0), InvalidArgument,
          "groups must divide the channels of X ", out, " on axis ", axis, ", got ", a.groups);
  if (out[axis] >= 0) out[axis] /= a.groups;
  return out;
}

void InferShape(InferContext& ctx) { ctx.SetOutput(kOut, OutShape(ctx)); }

void DefineMaxout(OpDef& op) {
  op.Comment(
        "Out = the largest of each `groups` neighbouring channels; a NaN wins. The gradient of "
        "ties goes to the first. Goodfellow et al., 2013.")
      .Example(
          ">>> x = to_variable([[[[1.0]], [[4.0]], [[3.0]], [[2.0]]]])\n"
          ">>> F.maxout(x, groups=2).tolist()\n"
          "[[[[4.0]], [[3.0]]]]")
      .Input(kX, "X", "[N, C, H, W], or C on the axis given")
      .Output(kOut, "Out", "X with C / groups channels")
      .Attr(&MaxoutAttrs::groups, "groups", "how many channels make one")
      .Attr(&MaxoutAttrs::axis, "axis", "the axis of the channels")
      .ShareLoD(kX)
      .Shape(InferShape)
      .Grad(CallGradient);
}

ChannelGroups GroupsOf(const Tensor& x, const MaxoutAttrs& a) {
  if (x.numel() == 0) return {0, a.groups, 1};
  const int axis = NormalizeAxis(a.axis, x.rank());
  const int64_t inner = Numel(x.dims(), axis + 1, x.rank());
  return {x.numel() / a.groups / inner, a.groups, inner};
}

template <class T>
struct MaxoutKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    const T* from = x.data<T>();
    T* to = ctx.Out(kOut).mutable_data<T>();
    ForLargest(GroupsOf(x, ctx.attrs<MaxoutAttrs>()), from,
               [=] DYGRAPH_FN(int64_t o, int64_t i) { to[o] = from[i]; });
  }
};

namespace grad {
constexpr int kX = 0, kOut = 1, kOutGrad = 2, kXGrad = 0;

void DefineMaxoutGrad(OpDef& op) {
  op.Comment("X@GRAD = Out@GRAD at the channel that was the largest, 0 elsewhere.")
      .Input(kX, "X", "input of maxout")
      .Input(kOut, "Out", "its result")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf("maxout")
      .SameShape(kX, kXGrad)
      .Grad(CallGradient);
}

template <class T>
struct MaxoutGradKernel {
  static void Compute(KernelContext& ctx) {
    Tensor& out = ctx.Out(kXGrad);
    T* to = out.mutable_data<T>();
    kernels::Fill(to, out.numel(), T(0));
    const T* from = ctx.In(kOutGrad).data<T>();
    const Tensor& x = ctx.In(kX);
    ForLargest(GroupsOf(x, ctx.attrs<MaxoutAttrs>()), x.data<T>(),
               [=] DYGRAPH_FN(int64_t o, int64_t i) { to[i] = from[o]; });
  }
};
}  // namespace grad

namespace grad_grad {
constexpr int kX = 0, kOut = 1, kXGradGrad = 2, kOutGradGrad = 0;

void DefineMaxoutGradGrad(OpDef& op) {
  op.Comment("Out@GRAD@GRAD = X@GRAD@GRAD at the channel that was the largest.")
      .Input(kX, "X", "input of maxout")
      .Input(kOut, "Out", "its result")
      .Input(kXGradGrad, "X@GRAD@GRAD", "shape of X")
      .Output(kOutGradGrad, "Out@GRAD@GRAD", "shape of Out")
      .AttrsOf("maxout")
      .Shape([](InferContext& ctx) {
        Dims out = OutShape(ctx);
        ENFORCE(!ctx.runtime() || ctx.dims(kOut) == out, InvalidArgument,
                "Out must have the shape of Out of maxout, ", out, ", got ", ctx.dims(kOut));
        ctx.SetOutput(kOutGradGrad, out);
      })
      .Grad([](GradBuilder& g) {
        g.Call("maxout_grad", {g.Input(kX), g.Input(kOut), g.OutputGrad(kOutGradGrad)},
               {g.InputGrad(kXGradGrad)})
            .SameAttrs();
      });
}

template <class T>
struct MaxoutGradGradKernel {
  static void Compute(KernelContext& ctx) {
    const T* from = ctx.In(kXGradGrad).data<T>();
    T* to = ctx.Out(kOutGradGrad).mutable_data<T>();
    const Tensor& x = ctx.In(kX);
    ForLargest(GroupsOf(x, ctx.attrs<MaxoutAttrs>()), x.data<T>(),
               [=] DYGRAPH_FN(int64_t o, int64_t i) { to[o] = from[i]; });
  }
};
}  // namespace grad_grad

REGISTER_OPERATOR(maxout, DefineMaxout);
REGISTER_KERNELS(maxout, MaxoutKernel, float, double);
REGISTER_OPERATOR(maxout_grad, grad::DefineMaxoutGrad);
REGISTER_KERNELS(maxout_grad, grad::MaxoutGradKernel, float, double);
REGISTER_OPERATOR(maxout_grad_grad, grad_grad::DefineMaxoutGradGrad);
REGISTER_KERNELS(maxout_grad_grad, grad_grad::MaxoutGradGradKernel, float, double);

}  // namespace
}  // namespace dygraph

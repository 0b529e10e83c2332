// The clip operator of the developer guide (000), step by step, with the headers of this library.
// Its name is doc_clip, since clip is taken.
#include "kernels/elementwise.h"
#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

// Step 1, the maker: inputs, outputs, attributes, comment.
struct DocClipAttrs {
  float min = 0.0f;
  float max = 0.0f;
};

// Step 2, InferShape: runs when a program is described and when it runs.
void InferShape(InferContext& ctx) {
  const auto& a = ctx.attrs<DocClipAttrs>();
  ENFORCE(a.min < a.max, InvalidArgument, "max should be greater than min, got min ", a.min,
          " and max ", a.max);
  ctx.SetOutput(kOut, ctx.dims(kX));
}

void DefineDocClip(OpDef& op) {
  op.Comment("Out = min(max(X, min), max), elementwise.")
      .Input(kX, "X", "(Tensor) The input of clip op.")
      .Output(kOut, "Out", "(Tensor) The output of clip op.")
      .Attr(&DocClipAttrs::min, "min", "(float) Minimum value.")
      .Attr(&DocClipAttrs::max, "max", "(float) Maximum value.")
      .Shape(InferShape)
      .ShareLoD(kX)
      .Grad([](GradBuilder& g) {
        g.Call("doc_clip_grad", {g.Input(kX), g.OutputGrad(kOut)}, {g.InputGrad(kX)}).SameAttrs();
      });
}

// Step 3, the kernel: a functor, and the helper that applies it to every element.
template <class T>
struct ClipFunctor {
  T min, max;
  T operator()(T x) const { return x < min ? min : x > max ? max : x; }
};

template <class T>
struct DocClipKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<DocClipAttrs>();
    const Tensor& x = ctx.In(kX);
    Tensor& out = ctx.Out(kOut);
    kernels::Map(x.data<T>(), out.mutable_data<T>(), x.numel(), ClipFunctor<T>{a.min, a.max});
  }
};

// Step 4, the gradient: an operator without a maker of its own, whose attributes are the forward's.
namespace grad {
constexpr int kX = 0, kOutGrad = 1, kXGrad = 0;

void DefineDocClipGrad(OpDef& op) {
  op.Comment("X@GRAD = Out@GRAD where min < X < max, else 0.")
      .Input(kX, "X", "input of doc_clip")
      .Input(kOutGrad, "Out@GRAD", "shape of X")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf("doc_clip")
      .SameShape(kX, kXGrad)
      .Grad([](GradBuilder& g) {
        g.Call("doc_clip_grad", {g.Input(kX), g.OutputGrad(kXGrad)}, {g.InputGrad(kOutGrad)})
            .SameAttrs();
      });
}

template <class T>
struct ClipGradFunctor {
  T min, max;
  T operator()(T x, T d_out) const { return min < x && x < max ? d_out : T(0); }
};

template <class T>
struct DocClipGradKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<DocClipAttrs>();
    const Tensor& x = ctx.In(kX);
    kernels::Zip(x.data<T>(), ctx.In(kOutGrad).data<T>(), ctx.Out(kXGrad).mutable_data<T>(),
                 x.numel(), ClipGradFunctor<T>{a.min, a.max});
  }
};
}  // namespace grad

// Step 5, registration.
REGISTER_OPERATOR(doc_clip, DefineDocClip);
REGISTER_CPU_KERNEL(doc_clip, DocClipKernel, float, double);
REGISTER_OPERATOR(doc_clip_grad, grad::DefineDocClipGrad);
REGISTER_CPU_KERNEL(doc_clip_grad, grad::DocClipGradKernel, float, double);

}  // namespace
}  // namespace dygraph

#include "op/op_registry.h"
#include "operators/control/array.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

struct RnnMemoryHelperAttrs {
  DType dtype = DType::kFloat32;
};

void DefineRnnMemoryHelper(OpDef& op) {
  op.Comment("Out = X, the state that a step hands on. They share storage.")
      .Example(
          ">>> F.rnn_memory_helper(to_variable([1.0, 2.0])).tolist()\n"
          "[1.0, 2.0]")
      .Input(kX, "X", "any shape")
      .Output(kOut, "Out", "shape of X")
      .Attr(&RnnMemoryHelperAttrs::dtype, "dtype", "accepted from other programs, without effect")
      .SameShape(kX, kOut)
      .KernelAllocates()
      .ShareLoD(kX)
      .MayShare(kX, kOut)
      .Grad([](GradBuilder& g) {
        g.Call("rnn_memory_helper_grad", {g.OutputGrad(kOut), g.InputShape(kX), RecipeRef()},
               {g.InputGrad(kX)})
            .SameAttrs();
      });
}

template <class T>
struct RnnMemoryHelperKernel {
  static void Compute(KernelContext& ctx) {
    ctx.Out(kOut).ShareData(ctx.In(kX));
    ctx.Out(kOut).SetLoD(ctx.In(kX).lod_ref());
  }
};

namespace grad {
constexpr int kOutGrad = 0, kX = 1, kOut = 2, kXGrad = 0;

void DefineRnnMemoryHelperGrad(OpDef& op) {
  op.Comment("X@GRAD = Out@GRAD, zeros where that is left out.")
      .Input(kOutGrad, "Out@GRAD", "shape of X", kDispensable)
      .Input(kX, "X", "its shape", kShapeOnly)
      .Input(kOut, "Out", "accepted from other programs, not read", kDispensable | kShapeOnly)
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf("rnn_memory_helper")
      .SameShape(kX, kXGrad)
      .KernelDTypeOf(kX)
      .KernelAllocates()
      .ShareLoD(kX)
      .Grad([](GradBuilder& g) {
        g.Call("rnn_memory_helper", {g.OutputGrad(kXGrad)}, {g.InputGrad(kOutGrad)}).SameAttrs();
      });
}

template <class T>
struct RnnMemoryHelperGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    Tensor& out = ctx.Out(kXGrad);
    if (const Tensor* g = ctx.InOrNull(kOutGrad)) {
      ENFORCE(g->dims() == x.dims(), InvalidArgument, "Out@GRAD must have the shape of X, ",
              x.dims(), ", got ", g->dims());
      out.ShareData(*g);
    } else {
      out.AllocateData(ctx.place());
      array::Clear(&out);
    }
    out.SetLoD(x.lod_ref());
  }
};
}  // namespace grad

REGISTER_OPERATOR(rnn_memory_helper, DefineRnnMemoryHelper);
REGISTER_MOVING_KERNEL(rnn_memory_helper, RnnMemoryHelperKernel);
REGISTER_OPERATOR(rnn_memory_helper_grad, grad::DefineRnnMemoryHelperGrad);
REGISTER_KERNELS(rnn_memory_helper_grad, grad::RnnMemoryHelperGradKernel, float16, bfloat16, float,
                 double);

}  // namespace
}  // namespace dygraph

#include "op/gradient_call.h"
#include "op/lod_rule.h"
#include "operators/reduce/chosen.h"
#include "operators/reduce/picked.h"
#include "operators/reduce/selection.h"

namespace dygraph::chosen {
namespace {

struct KthvalueAttrs {
  int32_t k = 1;
  int32_t axis = -1;
  bool keepdim = false;
};

void InferKthvalue(InferContext& ctx) {
  const KthvalueAttrs& a = ctx.attrs<KthvalueAttrs>();
  const int64_t n = InferShape(ctx, a.axis, a.keepdim);
  ENFORCE(a.k >= 1 && (a.k <= n || n < 0), InvalidArgument,
          "k must be at least 1 and at most the size of the axis, ", n, ", got ", a.k);
}

void DefineKthvalue(OpDef& op) {
  AddSlots(op.Comment("Out = the k-th smallest element of X along an axis, Indices = where it "
                      "stood: element k - 1 of a sort that keeps the order of equals. A NaN counts "
                      "as the greatest.")
               .Example(">>> x = to_variable([[5.0, 1.0, 3.0]])\n"
                        ">>> [v.tolist() for v in F.kthvalue(x, k=2)]\n"
                        "[[3.0], [2]]"))
      .Attr(&KthvalueAttrs::k, "k", "which, from 1")
      .Attr(&KthvalueAttrs::axis, "axis", "the axis; negative ones count from the end")
      .Attr(&KthvalueAttrs::keepdim, "keepdim", "keep the axis, with one element")
      .Shape(InferKthvalue)
      .Grad([](GradBuilder& g) {
        g.Call("kthvalue_grad", {g.InputShape(kX), g.Output(kIndices), g.OutputGrad(kOut)},
               {g.InputGrad(kX)})
            .SameAttrs();
      });
}

template <class T>
struct KthvalueKernel {
  static void Compute(KernelContext& ctx) {
    const KthvalueAttrs& a = ctx.attrs<KthvalueAttrs>();
    const Tensor& x = ctx.In(kX);
    sorting::Kth(x.data<T>(), sorting::Lines(x.dims(), a.axis), a.k - 1,
                 ctx.Out(kOut).mutable_data<T>(), ctx.Out(kIndices).mutable_data<int64_t>());
  }
};

// f(place in the chosen ones, place in x) for all Indices.
template <class F>
void ForEachChosen(const KernelContext& ctx, int slot, const Dims& x, F f) {
  const sorting::Lines lines(x, ctx.attrs<KthvalueAttrs>().axis);
  const Tensor& indices = ctx.In(slot);
  ENFORCE(indices.numel() == lines.count(), InvalidArgument,
          "Indices must have one number for each of the ", lines.count(), " lines of X ", x,
          ", got shape ", indices.dims());
  sorting::ForPicked(ctx, slot, lines, 1, f);
}

namespace grad {
constexpr int kX = 0, kIndices = 1, kOutGrad = 2, kXGrad = 0;

void DefineKthvalueGrad(OpDef& op) {
  op.Comment("X@GRAD = Out@GRAD at the Indices along the axis, 0 elsewhere.")
      .Input(kX, "X", "its shape", kShapeOnly)
      .Input(kIndices, "Indices", "result of kthvalue or mode")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf("kthvalue")
      .SameShape(kX, kXGrad)
      .KernelDTypeOf(kOutGrad)
      .MixedDTypes()
      .Grad(CallGradient);
}

template <class T>
struct KthvalueGradKernel {
  static void Compute(KernelContext& ctx) {
    Tensor& out = ctx.Out(kXGrad);
    T* to = out.mutable_data<T>();
    const T* from = ctx.In(kOutGrad).data<T>();
    kernels::Fill(to, out.numel(), T(0));
    ForEachChosen(ctx, kIndices, out.dims(),
                  [=] DYGRAPH_FN(int64_t chosen, int64_t at) { to[at] = from[chosen]; });
  }
};
}  // namespace grad

namespace grad_grad {
constexpr int kXGradGrad = 0, kIndices = 1, kOutGradGrad = 0;

void DefineKthvalueGradGrad(OpDef& op) {
  op.Comment("Out@GRAD@GRAD = X@GRAD@GRAD at the Indices along the axis.")
      .Input(kXGradGrad, "X@GRAD@GRAD", "shape of X")
      .Input(kIndices, "Indices", "result of kthvalue or mode")
      .Output(kOutGradGrad, "Out@GRAD@GRAD", "shape of Out")
      .AttrsOf("kthvalue")
      .Shape([](InferContext& ctx) {
        ctx.SetOutput(kOutGradGrad, ctx.dims(kIndices), ctx.dtype(kXGradGrad));
      })
      .MixedDTypes()
      .Grad([](GradBuilder& g) {
        g.Call("kthvalue_grad",
               {g.InputShape(kXGradGrad), g.Input(kIndices), g.OutputGrad(kOutGradGrad)},
               {g.InputGrad(kXGradGrad)})
            .SameAttrs();
      });
}

template <class T>
struct KthvalueGradGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& ddx = ctx.In(kXGradGrad);
    const T* from = ddx.data<T>();
    T* to = ctx.Out(kOutGradGrad).mutable_data<T>();
    ForEachChosen(ctx, kIndices, ddx.dims(),
                  [=] DYGRAPH_FN(int64_t chosen, int64_t at) { to[chosen] = from[at]; });
  }
};
}  // namespace grad_grad

REGISTER_OPERATOR(kthvalue, DefineKthvalue);
REGISTER_LOD_RULE(kthvalue,
                  [](const LoDCall& c) { return c.IsBehindFirst(c.attrs<KthvalueAttrs>().axis); });
REGISTER_KERNELS(kthvalue, KthvalueKernel, int32_t, int64_t, float, double);
REGISTER_OPERATOR(kthvalue_grad, grad::DefineKthvalueGrad);
REGISTER_KERNELS(kthvalue_grad, grad::KthvalueGradKernel, float, double);
REGISTER_OPERATOR(kthvalue_grad_grad, grad_grad::DefineKthvalueGradGrad);
REGISTER_KERNELS(kthvalue_grad_grad, grad_grad::KthvalueGradGradKernel, float, double);

}  // namespace
}  // namespace dygraph::chosen

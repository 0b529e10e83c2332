#include <cstring>

#include "op/gradient_call.h"
#include "op/lod_rule.h"
#include "operators/reduce/chosen.h"
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
    using K = decltype(sorting::OrderKey(T()));
    using Room = sorting::KeyRoom<K>;
    const KthvalueAttrs& a = ctx.attrs<KthvalueAttrs>();
    const int64_t k = a.k - 1;
    ForLines<T, Room>(ctx, a.axis, 8, [k](const T* line, int64_t n, int64_t step, Room* room) {
      sorting::KeysOf(line, step, n, K(0), K(0), room->keys);
      return room->Kth(k);
    });
  }
};

// f(place in the chosen ones, place in x) for all Indices, after all of them were checked.
template <class F>
void ForEachChosen(const Tensor& indices, const Dims& x, int64_t axis, F f) {
  const sorting::Lines lines(x, axis);
  const int64_t* list = indices.data<int64_t>();
  ENFORCE(indices.numel() == lines.count(), InvalidArgument,
          "Indices must have one number for each of the ", lines.count(), " lines of X ", x,
          ", got shape ", indices.dims());
  for (int64_t i = 0; i < lines.count(); ++i) {
    ENFORCE(list[i] >= 0 && list[i] < lines.n, OutOfRange, "Indices must lie in [0, ", lines.n,
            "), the size of X along the axis, got ", list[i], " at position ", i);
  }
  for (int64_t i = 0; i < lines.count(); ++i) f(i, lines.Begin(i, lines.n) + list[i] * lines.inner);
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
    if (out.numel() > 0) std::memset(to, 0, out.bytes());
    ForEachChosen(ctx.In(kIndices), out.dims(), ctx.attrs<KthvalueAttrs>().axis,
                  [=](int64_t chosen, int64_t at) { to[at] = from[chosen]; });
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
    ForEachChosen(ctx.In(kIndices), ddx.dims(), ctx.attrs<KthvalueAttrs>().axis,
                  [=](int64_t chosen, int64_t at) { to[chosen] = from[at]; });
  }
};
}  // namespace grad_grad

REGISTER_OPERATOR(kthvalue, DefineKthvalue);
REGISTER_LOD_RULE(kthvalue,
                  [](const LoDCall& c) { return c.IsBehindFirst(c.attrs<KthvalueAttrs>().axis); });
REGISTER_CPU_KERNEL(kthvalue, KthvalueKernel, int32_t, int64_t, float, double);
REGISTER_OPERATOR(kthvalue_grad, grad::DefineKthvalueGrad);
REGISTER_CPU_KERNEL(kthvalue_grad, grad::KthvalueGradKernel, float, double);
REGISTER_OPERATOR(kthvalue_grad_grad, grad_grad::DefineKthvalueGradGrad);
REGISTER_CPU_KERNEL(kthvalue_grad_grad, grad_grad::KthvalueGradGradKernel, float, double);

}  // namespace
}  // namespace dygraph::chosen

#include "op/gradient_call.h"
#include "op/lod_rule.h"
#include "operators/arguments.h"
#include "operators/reduce/picked.h"
#include "operators/reduce/sorting.h"

namespace dygraph::sorting {
namespace {

constexpr int kX = 0, kK = 1, kOut = 0, kIndices = 1;

struct TopKV2Attrs {
  int32_t k = 1;
  int32_t axis = -1;
  bool largest = true;
  bool sorted = true;
};

void InferShape(InferContext& ctx) {
  const TopKV2Attrs& a = ctx.attrs<TopKV2Attrs>();
  Dims out = ctx.dims(kX);
  int axis = NormalizeAxis(a.axis, out.rank());
  IntList k = ReadIntList(ctx.call(), kK, -1, std::vector<int32_t>{a.k});
  ENFORCE(k.values.size() == 1, InvalidArgument, "K must hold one integer, got ", k.values.size());
  int64_t size = out.empty() ? 1 : out[axis];
  ENFORCE(!k.known || (k.values[0] >= 1 && (k.values[0] <= size || size < 0)), InvalidArgument,
          "k must be at least 1 and at most the size of axis ", axis, " of X ", out, ", got ",
          k.values[0]);
  if (!out.empty()) out[axis] = k.known ? k.values[0] : -1;
  ctx.SetOutput(kOut, out, ctx.dtype(kX));
  ctx.SetOutput(kIndices, out, DType::kInt64);
}

void DefineTopKV2(OpDef& op) {
  op.Comment(
        "Out = the k greatest (largest) or least elements of X along an axis, in that order, of "
        "equals the first; Indices = where they stood. A NaN counts as the greatest.")
      .Example(
          ">>> out, indices = F.top_k_v2(to_variable([[1.0, 4.0, 3.0]]), k=2, largest=False)\n"
          ">>> out.tolist(), indices.tolist()\n"
          "([[1.0, 3.0]], [[0, 2]])")
      .Input(kX, "X", "any shape")
      .Input(kK, "K", "one integer, in place of the attribute", kDispensable | kOnHost)
      .Output(kOut, "Out", "shape of X with k elements along the axis")
      .Output(kIndices, "Indices", "shape of Out, int64")
      .Attr(&TopKV2Attrs::k, "k", "how many")
      .Attr(&TopKV2Attrs::axis, "axis", "the axis; negative ones count from the end")
      .Attr(&TopKV2Attrs::largest, "largest", "the greatest; false: the least")
      .Attr(&TopKV2Attrs::sorted, "sorted", "false: any order will do (they are in order anyway)")
      .Shape(InferShape)
      .MixedDTypes()
      .ShareLoD(kX)
      .Grad(CallGradient);
}

template <class T>
struct TopKV2Kernel {
  static void Compute(KernelContext& ctx) {
    const TopKV2Attrs& a = ctx.attrs<TopKV2Attrs>();
    Tensor& out = ctx.Out(kOut);
    int64_t k = out.rank() == 0 ? 1 : out.dim(NormalizeAxis(a.axis, out.rank()));
    Sort<T>(ctx.In(kX), a.axis, k, a.largest, out.mutable_data<T>(),
            ctx.Out(kIndices).mutable_data<int64_t>());
  }
};

namespace grad {
constexpr int kX = 0, kIndices = 1, kOutGrad = 2, kXGrad = 0;

void DefineTopKV2Grad(OpDef& op) {
  op.Comment("X@GRAD = Out@GRAD at the Indices along the axis, 0 elsewhere.")
      .Input(kX, "X", "its shape", kShapeOnly)
      .Input(kIndices, "Indices", "result of top_k_v2 or argsort")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .AttrsOf("top_k_v2")
      .SameShape(kX, kXGrad)
      .KernelDTypeOf(kOutGrad)
      .MixedDTypes()
      .Grad(CallGradient);
}

template <class T>
struct TopKV2GradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &indices = ctx.In(kIndices), &g = ctx.In(kOutGrad);
    Tensor& out = ctx.Out(kXGrad);
    ENFORCE(g.dims() == indices.dims(), InvalidArgument,
            "Out@GRAD must have the shape of Indices, ", indices.dims(), ", got ", g.dims());
    T* to = out.mutable_data<T>();
    const T* from = g.data<T>();
    kernels::Fill(to, out.numel(), T(0));
    ForEachPicked(ctx, kIndices, out.dims(), ctx.attrs<TopKV2Attrs>().axis,
                  [=] DYGRAPH_FN(int64_t picked, int64_t at) {
                    kernels::AddAt(to + at, from[picked]);
                  });
  }
};
}  // namespace grad

namespace grad_grad {
constexpr int kXGradGrad = 0, kIndices = 1, kOutGradGrad = 0;

void DefineTopKV2GradGrad(OpDef& op) {
  op.Comment("Out@GRAD@GRAD = X@GRAD@GRAD at the Indices along the axis.")
      .Input(kXGradGrad, "X@GRAD@GRAD", "shape of X")
      .Input(kIndices, "Indices", "result of top_k_v2 or argsort")
      .Output(kOutGradGrad, "Out@GRAD@GRAD", "shape of Out")
      .AttrsOf("top_k_v2")
      .Shape([](InferContext& ctx) {
        ctx.SetOutput(kOutGradGrad, ctx.dims(kIndices), ctx.dtype(kXGradGrad));
      })
      .MixedDTypes()
      .Grad([](GradBuilder& g) {
        g.Call("top_k_v2_grad",
               {g.InputShape(kXGradGrad), g.Input(kIndices), g.OutputGrad(kOutGradGrad)},
               {g.InputGrad(kXGradGrad)})
            .SameAttrs();
      });
}

template <class T>
struct TopKV2GradGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& ddx = ctx.In(kXGradGrad);
    const T* from = ddx.data<T>();
    T* to = ctx.Out(kOutGradGrad).mutable_data<T>();
    ForEachPicked(ctx, kIndices, ddx.dims(), ctx.attrs<TopKV2Attrs>().axis,
                  [=] DYGRAPH_FN(int64_t picked, int64_t at) { to[picked] = from[at]; });
  }
};
}  // namespace grad_grad

REGISTER_OPERATOR(top_k_v2, DefineTopKV2);
REGISTER_LOD_RULE(top_k_v2, [](const LoDCall& c) {
  return c.IsBehindFirst(c.attrs<TopKV2Attrs>().axis);
});
REGISTER_KERNELS(top_k_v2, TopKV2Kernel, int32_t, int64_t, float, double);
REGISTER_OPERATOR(top_k_v2_grad, grad::DefineTopKV2Grad);
REGISTER_KERNELS(top_k_v2_grad, grad::TopKV2GradKernel, float, double);
REGISTER_OPERATOR(top_k_v2_grad_grad, grad_grad::DefineTopKV2GradGrad);
REGISTER_KERNELS(top_k_v2_grad_grad, grad_grad::TopKV2GradGradKernel, float, double);

}  // namespace
}  // namespace dygraph::sorting

#include "op/gradient_call.h"
#include "op/lod_rule.h"
#include "operators/arguments.h"
#include "operators/reduce/picked.h"
#include "operators/reduce/sorting.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kK = 1, kOut = 0, kIndices = 1;

struct TopKAttrs {
  int32_t k = 1;
};

void InferShape(InferContext& ctx) {
  Dims out = ctx.dims(kX);
  ENFORCE(out.rank() > 0, InvalidArgument, "X must have at least one axis, got shape []");
  IntList k = ReadIntList(ctx.call(), kK, -1, std::vector<int32_t>{ctx.attrs<TopKAttrs>().k});
  ENFORCE(k.values.size() == 1, InvalidArgument, "K must hold one integer, got ", k.values.size());
  if (k.known) {
    ENFORCE(k.values[0] >= 1 && (k.values[0] <= out.back() || out.back() < 0), InvalidArgument,
            "k must be at least 1 and at most the last size of X ", out, ", got ", k.values[0]);
  }
  out.back() = k.known ? k.values[0] : -1;
  ctx.SetOutput(kOut, out, ctx.dtype(kX));
  ctx.SetOutput(kIndices, out, DType::kInt64);
}

void DefineTopK(OpDef& op) {
  op.Comment(
        "Out = the k greatest elements of each row of X, greatest first, of equals the first; "
        "Indices = their positions in the "
        "row. A NaN counts as the greatest. Rows lie along the last axis.")
      .Example(
          ">>> out, indices = F.top_k(to_variable([[1.0, 4.0, 3.0], [2.0, 0.0, 5.0]]), k=2)\n"
          ">>> out.tolist(), indices.tolist()\n"
          "([[4.0, 3.0], [5.0, 2.0]], [[1, 2], [2, 0]])")
      .Input(kX, "X", "[..., n]")
      .Input(kK, "K", "one integer, in place of the attribute", kDispensable | kOnHost)
      .Output(kOut, "Out", "[..., k]")
      .Output(kIndices, "Indices", "[..., k], int64")
      .Attr(&TopKAttrs::k, "k", "how many")
      .Shape(InferShape)
      .MixedDTypes()
      .ShareLoD(kX)
      .Grad(CallGradient);
}

template <class T>
struct TopKKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    Tensor &out = ctx.Out(kOut), &indices = ctx.Out(kIndices);
    int64_t k = out.dims().back();
    sorting::Sort(x, -1, k, true, out.mutable_data<T>(), indices.mutable_data<int64_t>());
  }
};

// Calls f(place in Indices, place in X) for all of them; each row of X has k.
template <class F>
void ForIndices(const KernelContext& ctx, int slot, const Dims& x, F f) {
  const Dims& indices = ctx.In(slot).dims();
  bool fits = x.rank() > 0 && x.rank() == indices.rank() &&
              Numel(x, 0, x.rank() - 1) == Numel(indices, 0, x.rank() - 1);
  ENFORCE(fits, InvalidArgument, "Indices must have as many rows as X ", x, ", got shape ",
          indices);
  sorting::ForPicked(ctx, slot, sorting::Lines(x, -1), indices.back(), f);
}

namespace grad {
constexpr int kX = 0, kIndices = 1, kOutGrad = 2, kXGrad = 0;

void DefineTopKGrad(OpDef& op) {
  op.Comment("X@GRAD = Out@GRAD at the Indices of each row, 0 elsewhere.")
      .Input(kX, "X", "its shape", kShapeOnly)
      .Input(kIndices, "Indices", "result of top_k")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .SameShape(kX, kXGrad)
      .KernelDTypeOf(kOutGrad)
      .MixedDTypes()
      .Grad(CallGradient);
}

template <class T>
struct TopKGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &indices = ctx.In(kIndices), &g = ctx.In(kOutGrad);
    Tensor& out = ctx.Out(kXGrad);
    ENFORCE(g.dims() == indices.dims(), InvalidArgument,
            "Out@GRAD must have the shape of Indices, ", indices.dims(), ", got ", g.dims());
    T* to = out.mutable_data<T>();
    const T* from = g.data<T>();
    kernels::Fill(to, out.numel(), T(0));
    ForIndices(ctx, kIndices, out.dims(), [=] DYGRAPH_FN(int64_t i, int64_t at) {
      kernels::AddAt(to + at, from[i]);
    });
  }
};
}  // namespace grad

namespace grad_grad {
constexpr int kXGradGrad = 0, kIndices = 1, kOutGradGrad = 0;

void DefineTopKGradGrad(OpDef& op) {
  op.Comment("Out@GRAD@GRAD = X@GRAD@GRAD at the Indices of each row.")
      .Input(kXGradGrad, "X@GRAD@GRAD", "shape of X")
      .Input(kIndices, "Indices", "result of top_k")
      .Output(kOutGradGrad, "Out@GRAD@GRAD", "shape of Out")
      .Shape([](InferContext& ctx) {
        ctx.SetOutput(kOutGradGrad, ctx.dims(kIndices), ctx.dtype(kXGradGrad));
      })
      .MixedDTypes()
      .Grad([](GradBuilder& g) {
        g.Call("top_k_grad",
               {g.InputShape(kXGradGrad), g.Input(kIndices), g.OutputGrad(kOutGradGrad)},
               {g.InputGrad(kXGradGrad)});
      });
}

template <class T>
struct TopKGradGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& ddx = ctx.In(kXGradGrad);
    const T* from = ddx.data<T>();
    T* to = ctx.Out(kOutGradGrad).mutable_data<T>();
    ForIndices(ctx, kIndices, ddx.dims(),
               [=] DYGRAPH_FN(int64_t i, int64_t at) { to[i] = from[at]; });
  }
};
}  // namespace grad_grad

REGISTER_OPERATOR(top_k, DefineTopK);
REGISTER_LOD_RULE(top_k, [](const LoDCall& c) { return c.from.rank() > 1; });
REGISTER_KERNELS(top_k, TopKKernel, int32_t, int64_t, float, double);
REGISTER_OPERATOR(top_k_grad, grad::DefineTopKGrad);
REGISTER_KERNELS(top_k_grad, grad::TopKGradKernel, float, double);
REGISTER_OPERATOR(top_k_grad_grad, grad_grad::DefineTopKGradGrad);
REGISTER_KERNELS(top_k_grad_grad, grad_grad::TopKGradGradKernel, float, double);

}  // namespace
}  // namespace dygraph

#include "op/gradient_call.h"
#include "operators/index/indexing.h"
#include "operators/index/nonzero.h"
#include "operators/index/repeated.h"

namespace dygraph::indexing {
namespace {

constexpr int kX = 0, kMask = 1, kY = 0;

// Checks the mask; gives the number of its true elements once it is repeated, -1 while that
// is unknown: the mask has no values yet, or lies on a device.
int64_t CountTrue(InferContext& ctx, int x_slot, int mask_slot) {
  const Dims &x = ctx.dims(x_slot), &mask = ctx.dims(mask_slot);
  const Dims common = BroadcastDims(x, mask, "X", "Mask");
  ENFORCE(ctx.dtype(mask_slot) == DType::kBool, Type, "Mask must be of bool, got ",
          ctx.dtype(mask_slot), ". Compare, as in x > 0, or convert with astype('bool')");
  const Tensor& values = ctx.value(mask_slot).tensor();
  if (!ctx.runtime() || !values.has_data() || values.place() != CPUPlace()) return -1;
  const bool* m = values.data<bool>();
  int64_t count = 0;
  for (int64_t i = 0; i < values.numel(); ++i) count += m[i];
  return values.numel() ? count * (Numel(common) / values.numel()) : 0;
}

void DefineMaskedSelect(OpDef& op) {
  op.Comment(
        "Y = the elements of X where Mask is true, in order, in one axis. X and Mask broadcast.")
      .Example(
          ">>> x = to_variable([[1.0, 2.0], [3.0, 4.0]])\n"
          ">>> F.masked_select(x, to_variable([[True, False], [False, True]])).tolist()\n"
          "[1.0, 4.0]")
      .Input(kX, "X", "any shape")
      .Input(kMask, "Mask", "broadcasts with X, bool")
      .Output(kY, "Y", "[number of true elements]")
      .Shape(
          [](InferContext& ctx) { ctx.SetOutput(kY, {CountTrue(ctx, kX, kMask)}, ctx.dtype(kX)); })
      .KernelDTypeOf(kX)
      .MixedDTypes()
      .KernelAllocates()
      .Grad(CallGradient);
}

template <class T>
struct MaskedSelectKernel {
  static void Compute(KernelContext& ctx) {
    const Dims common = BroadcastDims(ctx.In(kX).dims(), ctx.In(kMask).dims());
    const Tensor x = Repeated(ctx.In(kX), common), mask = Repeated(ctx.In(kMask), common);
    const Positions at = NonzeroPositions<bool>(mask);
    Tensor& out = ctx.Out(kY);
    out.Allocate({at.size()}, x.dtype(), ctx.place());
    kernels::TakeRows({1, x.numel(), 1}, x.raw_data(), at.data(), at.size(), out.mutable_raw_data(),
                      sizeof(T));
  }
};

namespace grad {
constexpr int kX = 0, kMask = 1, kYGrad = 2, kXGrad = 0;

void InferGradShape(InferContext& ctx) {
  int64_t count = CountTrue(ctx, kX, kMask);
  const Dims& g = ctx.dims(kYGrad);
  ENFORCE(g.rank() == 1 && (g[0] == count || !BothKnown(g[0], count)), InvalidArgument,
          "Y@GRAD must have one element for each of the ", count, " true ones of Mask, got shape ",
          g);
  ctx.SetOutput(kXGrad, ctx.dims(kX), ctx.dtype(kX));
}

void DefineMaskedSelectGrad(OpDef& op) {
  op.Comment(
        "X@GRAD = Y@GRAD, in order, where Mask is true, and 0 elsewhere, summed over the axes "
        "along "
        "which X was broadcast.")
      .Input(kX, "X", "its shape", kShapeOnly)
      .Input(kMask, "Mask", "broadcasts with X, bool")
      .Input(kYGrad, "Y@GRAD", "shape of Y")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .Shape(InferGradShape)
      .KernelDTypeOf(kYGrad)
      .MixedDTypes()
      .Grad([](GradBuilder& g) {
        g.Call("masked_select", {g.OutputGrad(kXGrad), g.Input(kMask)}, {g.InputGrad(kYGrad)});
      });
}

template <class T>
struct MaskedSelectGradKernel {
  static void Compute(KernelContext& ctx) {
    Tensor& out = ctx.Out(kXGrad);
    const Dims common = BroadcastDims(out.dims(), ctx.In(kMask).dims());
    const Tensor mask = Repeated(ctx.In(kMask), common);
    const Positions at = NonzeroPositions<bool>(mask, ctx.In(kYGrad).numel());
    const bool same = out.dims() == common;
    Tensor repeated;
    if (!same) repeated = Tensor(common, out.dtype(), out.place());
    Tensor& full = same ? out : repeated;
    Clear(&full);
    kernels::PutRows({1, full.numel(), 1}, full.mutable_raw_data(), at.data(), at.size(),
                     ctx.In(kYGrad).raw_data(), sizeof(T));
    if (same || out.numel() == 0) return;
    if (full.numel() == 0) return Clear(&out);
    kernels::SumTo(common, full.data<T>(), Strides(common), out.mutable_data<T>(),
                   RepeatedStrides(out.dims(), common));
  }
};
}  // namespace grad

REGISTER_OPERATOR(masked_select, DefineMaskedSelect);
REGISTER_KERNELS(masked_select, MaskedSelectKernel, AllTypes);
REGISTER_OPERATOR(masked_select_grad, grad::DefineMaskedSelectGrad);
REGISTER_KERNELS(masked_select_grad, grad::MaskedSelectGradKernel, float, double, complex64,
                 complex128);

}  // namespace
}  // namespace dygraph::indexing

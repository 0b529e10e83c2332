#include "operators/indexing.h"

namespace dygraph::indexing {
namespace {

constexpr int kX = 0, kMask = 1, kY = 0;

// Checks a mask of the shape of x; gives the number of its true elements, -1 while unknown.
int64_t CountTrue(InferContext& ctx, int x_slot, int mask_slot) {
  const Dims &x = ctx.dims(x_slot), &mask = ctx.dims(mask_slot);
  bool same = x.size() == mask.size();
  for (size_t i = 0; same && i < x.size(); ++i) same = x[i] == mask[i] || !BothKnown(x[i], mask[i]);
  ENFORCE(same, InvalidArgument, "Mask must have the shape of X ", x, ", got ", mask);
  ENFORCE(ctx.dtype(mask_slot) == DType::kBool, Type, "Mask must be of bool, got ",
          ctx.dtype(mask_slot), ". Compare, as in x > 0, or convert with astype('bool')");
  const Tensor& values = ctx.value(mask_slot).tensor();
  if (!ctx.runtime() || !values.has_data()) return -1;
  const bool* m = values.data<bool>();
  int64_t count = 0;
  for (int64_t i = 0; i < values.numel(); ++i) count += m[i];
  return count;
}

std::vector<int64_t> TrueAt(const Tensor& mask) {
  std::vector<int64_t> at;
  const bool* m = mask.data<bool>();
  for (int64_t i = 0; i < mask.numel(); ++i) {
    if (m[i]) at.push_back(i);
  }
  return at;
}

void DefineMaskedSelect(OpDef& op) {
  op.Comment("Y = the elements of X where Mask is true, in order, in one axis.")
      .Example(
          ">>> x = to_variable([[1.0, 2.0], [3.0, 4.0]])\n"
          ">>> F.masked_select(x, to_variable([[True, False], [False, True]])).tolist()\n"
          "[1.0, 4.0]")
      .Input(kX, "X", "any shape")
      .Input(kMask, "Mask", "shape of X, bool")
      .Output(kY, "Y", "[number of true elements]")
      .Shape(
          [](InferContext& ctx) { ctx.SetOutput(kY, {CountTrue(ctx, kX, kMask)}, ctx.dtype(kX)); })
      .KernelDTypeOf(kX)
      .MixedDTypes()
      .Grad([](GradBuilder& g) {
        g.Call("masked_select_grad", {g.InputShape(kX), g.Input(kMask), g.OutputGrad(kY)},
               {g.InputGrad(kX)});
      });
}

template <class T>
struct MaskedSelectKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor &x = ctx.In(kX), &mask = ctx.In(kMask);
    std::vector<int64_t> at = TrueAt(mask);
    kernels::TakeRows({1, x.numel(), 1}, x.raw_data(), at.data(), at.size(),
                      ctx.Out(kY).mutable_raw_data(), sizeof(T));
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
  op.Comment("X@GRAD = Y@GRAD, in order, where Mask is true, and 0 elsewhere.")
      .Input(kX, "X", "its shape")
      .Input(kMask, "Mask", "shape of X, bool")
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
    std::vector<int64_t> at = TrueAt(ctx.In(kMask));
    Clear(&out);
    kernels::PutRows({1, out.numel(), 1}, out.mutable_raw_data(), at.data(), at.size(),
                     ctx.In(kYGrad).raw_data(), sizeof(T));
  }
};
}  // namespace grad

REGISTER_OPERATOR(masked_select, DefineMaskedSelect);
REGISTER_CPU_KERNEL(masked_select, MaskedSelectKernel, bool, uint8_t, int8_t, int16_t, int32_t,
                    int64_t, float16, bfloat16, float, double);
REGISTER_OPERATOR(masked_select_grad, grad::DefineMaskedSelectGrad);
REGISTER_CPU_KERNEL(masked_select_grad, grad::MaskedSelectGradKernel, float, double);

}  // namespace
}  // namespace dygraph::indexing

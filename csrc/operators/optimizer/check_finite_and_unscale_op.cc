#include "operators/optimizer/unscale.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kScale = 1, kOut = 0, kFoundInfinite = 1;

void InferShape(InferContext& ctx) {
  optimizer::CheckScalar(ctx, kX, kScale, "Scale");
  ENFORCE(ctx.OutputCount(kOut) == ctx.InputCount(kX), InvalidArgument,
          "there must be one Out for each X, ", ctx.InputCount(kX), ", got ",
          ctx.OutputCount(kOut));
  for (int i = 0; i < ctx.InputCount(kX); ++i) {
    ENFORCE(ctx.dtype(kX, i) == ctx.dtype(kX), Type, "all X must be of one type, got X[0] ",
            ctx.dtype(kX), " and X[", i, "] ", ctx.dtype(kX, i));
    ctx.SetOutputAt(kOut, i, ctx.dims(kX, i), ctx.dtype(kX));
  }
  ctx.SetOutput(kFoundInfinite, {1}, DType::kBool);
}

void DefineCheckFiniteAndUnscale(OpDef& op) {
  op.Comment(
        "Out[i] = X[i] / Scale; FoundInfinite is True where any element of any X is infinite or "
        "not a number.")
      .Example(
          ">>> x, scale = to_variable([2.0, 4.0]), to_variable([2.0])\n"
          ">>> out, found = F.check_finite_and_unscale([x], scale)\n"
          ">>> out[0].tolist(), found.tolist()\n"
          "([1.0, 2.0], [False])")
      .Input(kX, "X", "tensors of any shapes", kDuplicable)
      .Input(kScale, "Scale", "[1] or []: what the loss was multiplied with")
      .Output(kOut, "Out", "shape of each X", kDuplicable)
      .Output(kFoundInfinite, "FoundInfinite", "[1] bool")
      .OutputCount([](int, const Call& call) { return call.in.count(kX); })
      .Shape(InferShape)
      .MixedDTypes()
      .NoGrad();
}

template <class T>
struct CheckFiniteAndUnscaleKernel {
  static void Compute(KernelContext& ctx) {
    std::vector<optimizer::Unscaled<T>> arrays;
    for (int i = 0; i < ctx.InputCount(kX); ++i) {
      const Tensor& x = ctx.In(kX, i);
      Tensor* out = ctx.OutOrNull(kOut, i);
      arrays.push_back({x.data<T>(), out ? out->mutable_data<T>() : nullptr, x.numel()});
    }
    Tensor* found = ctx.OutOrNull(kFoundInfinite);
    optimizer::Unscale(ctx, arrays, ctx.In(kScale), found ? found->mutable_data<bool>() : nullptr);
  }
};

REGISTER_OPERATOR(check_finite_and_unscale, DefineCheckFiniteAndUnscale);
REGISTER_KERNELS(check_finite_and_unscale, CheckFiniteAndUnscaleKernel, float, double);

}  // namespace
}  // namespace dygraph

#include <atomic>

#include "operators/optimizer/optimizer.h"

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
    T inverse = static_cast<T>(1 / Item(ctx.In(kScale)));
    std::atomic<bool> found{false};
    std::atomic<bool>* flag = &found;
    for (int i = 0; i < ctx.InputCount(kX); ++i) {
      const T* x = ctx.In(kX, i).data<T>();
      Tensor* out = ctx.OutOrNull(kOut, i);
      T* y = out ? out->mutable_data<T>() : nullptr;
      ParallelFor(ctx.In(kX, i).numel(), kernels::Grain(), [=](int64_t begin, int64_t end) {
        T poison = 0;  // x * 0 is 0, or NaN for what is not finite
        for (int64_t k = begin; k < end; ++k) poison += x[k] * T(0);
        if (poison != 0) flag->store(true, std::memory_order_relaxed);
        for (int64_t k = begin; y && k < end; ++k) y[k] = x[k] * inverse;
      });
    }
    if (Tensor* out = ctx.OutOrNull(kFoundInfinite)) *out->mutable_data<bool>() = found.load();
  }
};

REGISTER_OPERATOR(check_finite_and_unscale, DefineCheckFiniteAndUnscale);
REGISTER_CPU_KERNEL(check_finite_and_unscale, CheckFiniteAndUnscaleKernel, float, double);

}  // namespace
}  // namespace dygraph

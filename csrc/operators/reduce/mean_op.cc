#include "kernels/convert.h"
#include "kernels/elementwise.h"
#include "kernels/reduce.h"
#include "op/gradient_call.h"
#include "op/number.h"
#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kOut = 0;

void DefineMean(OpDef& op) {
  op.Comment(
        "Out = the mean of all elements of X, a 0-d value; of integers and truths a float32. An "
        "empty X gives NaN.")
      .Example(
          ">>> F.mean(to_variable([[1.0, 2.0], [3.0, 6.0]])).item()\n"
          "3.0")
      .Input(kX, "X", "any shape")
      .Output(kOut, "Out", "shape []")
      .Shape([](InferContext& ctx) {
        DType dtype = ctx.dtype(kX);
        ctx.SetOutput(kOut, Dims(), IsFloating(dtype) ? dtype : DType::kFloat32);
      })
      .Grad(CallGradient);
}

// The mean of integers and truths, in float64.
template <class T>
struct WideMean : kernels::MeanOp<double> {
  using In = T;
  DYGRAPH_INLINE static double Add(double lane, T v) { return lane + static_cast<double>(v); }
};

template <class T>
struct MeanKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    const int64_t n = x.numel();
    const bool all = true;
    constexpr bool kFloat = std::is_floating_point_v<kernels::Wide<T>>;
    using Result = std::conditional_t<kFloat, T, float>;
    using Op = std::conditional_t<kFloat, kernels::MeanOp<T>, WideMean<T>>;
    kernels::Reduce<Op>(x.data<T>(), Span<const int64_t>(&n, 1), Span<const bool>(&all, 1),
                        ctx.Out(kOut).mutable_data<Result>());
  }
};

namespace grad {
constexpr int kX = 0, kOutGrad = 1, kXGrad = 0;

void DefineMeanGrad(OpDef& op) {
  op.Comment("X@GRAD = Out@GRAD / numel(X), everywhere.")
      .Input(kX, "X", "its shape", kShapeOnly)
      .Input(kOutGrad, "Out@GRAD", "shape []")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .SameShape(kX, kXGrad)
      .KernelDTypeOf(kOutGrad)
      .Grad(
          [](GradBuilder& g) { g.Call("mean", {g.OutputGrad(kXGrad)}, {g.InputGrad(kOutGrad)}); });
}

template <class T>
struct MeanGradKernel {
  static void Compute(KernelContext& ctx) {
    const int64_t n = ctx.In(kX).numel();
    if (n == 0) return;
    using W = kernels::Wide<T>;
    const Number<W> g(ctx.In(kOutGrad));
    kernels::FillWith(ctx.Out(kXGrad).mutable_data<T>(), n,
                      [=] DYGRAPH_FN() { return g() / static_cast<W>(n); });
  }
};
}  // namespace grad

REGISTER_OPERATOR(mean, DefineMean);
REGISTER_KERNELS(mean, MeanKernel, bool, uint8_t, int8_t, int16_t, int32_t, int64_t, float, double);
REGISTER_DEVICE_TYPES(mean, MeanKernel, float16, bfloat16);
REGISTER_OPERATOR(mean_grad, grad::DefineMeanGrad);
REGISTER_KERNELS(mean_grad, grad::MeanGradKernel, float, double);
REGISTER_DEVICE_TYPES(mean_grad, grad::MeanGradKernel, float16, bfloat16);

}  // namespace
}  // namespace dygraph

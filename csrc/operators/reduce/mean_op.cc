#include "kernels/elementwise.h"
#include "kernels/reduce.h"
#include "op/gradient_call.h"
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

template <class T>
struct MeanKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    int64_t n = x.numel();
    if constexpr (std::is_floating_point_v<T>) {
      bool all = true;
      kernels::Reduce<kernels::MeanOp<T>>(x.data<T>(), Span<const int64_t>(&n, 1),
                                          Span<const bool>(&all, 1),
                                          ctx.Out(kOut).mutable_data<T>());
    } else {
      double total = 0;
      for (const T *at = x.data<T>(), *end = at + n; at < end; ++at)
        total += static_cast<double>(*at);
      *ctx.Out(kOut).mutable_data<float>() = static_cast<float>(total / static_cast<double>(n));
    }
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
    int64_t n = ctx.In(kX).numel();
    if (n > 0)
      kernels::Fill(ctx.Out(kXGrad).mutable_data<T>(), n,
                    *ctx.In(kOutGrad).data<T>() / static_cast<T>(n));
  }
};
}  // namespace grad

REGISTER_OPERATOR(mean, DefineMean);
REGISTER_CPU_KERNEL(mean, MeanKernel, bool, uint8_t, int8_t, int16_t, int32_t, int64_t, float,
                    double);
REGISTER_OPERATOR(mean_grad, grad::DefineMeanGrad);
REGISTER_CPU_KERNEL(mean_grad, grad::MeanGradKernel, float, double);

}  // namespace
}  // namespace dygraph

#include "op/gradient_call.h"
#include "operators/higher_gradient.h"
#include "operators/linear/spectral_loops.h"

namespace dygraph {
namespace {

using spectral::kWeight, spectral::kU, spectral::kV, spectral::SpectralNormAttrs, spectral::Matrix;
constexpr int kOut = 0;

// Far beyond what converges; without a bound a small call could run for hours.
constexpr int kMostIterations = 100000;

void CheckInputs(InferContext& ctx) {
  const Dims& w = ctx.dims(kWeight);
  const SpectralNormAttrs& a = ctx.attrs<SpectralNormAttrs>();
  ENFORCE(w.rank() >= 2 && w.rank() <= 5, InvalidArgument,
          "Weight must have 2 to 5 axes, got shape ", w);
  ENFORCE(a.dim < w.rank(), InvalidArgument, "dim must be an axis of Weight ", w, ", got ", a.dim);
  int64_t rows = w[a.dim], columns = 1;
  for (int i = 0; i < w.rank(); ++i) columns = i == a.dim ? columns : MulSizes(columns, w[i]);
  const Dims &u = ctx.dims(kU), &v = ctx.dims(kV);
  ENFORCE(u.rank() == 1 && (u[0] == rows || !BothKnown(u[0], rows)), InvalidArgument,
          "U must hold ", rows, " numbers, the size of axis dim of Weight ", w, ", got shape ", u);
  ENFORCE(v.rank() == 1 && (v[0] == columns || !BothKnown(v[0], columns)), InvalidArgument,
          "V must hold ", columns, " numbers, the product of the other sizes of Weight ", w,
          ", got shape ", v);
}

void DefineSpectralNorm(OpDef& op) {
  op.Comment(
        "Out = Weight / sigma with sigma = u^T W v, W the Weight as a matrix [size of axis dim, "
        "rest], and u and v after power_iters steps v = W^T u / |W^T u|, u = W v / |W v| from U "
        "and V, which stay as they are. The gradient takes u and v as constants (Miyato et al., "
        "2018).")
      .Example(
          ">>> weight, u = to_variable([[2.0, 0.0], [0.0, 1.0]]), to_variable([1.0, 0.0])\n"
          ">>> np.round(F.spectral_norm(weight, u, v=u).numpy(), 4).tolist()  # sigma is 2\n"
          "[[1.0, 0.0], [0.0, 0.5]]")
      .Input(kWeight, "Weight", "2 to 5 axes")
      .Input(kU, "U", "[size of axis dim]")
      .Input(kV, "V", "[product of the other sizes]")
      .Output(kOut, "Out", "shape of Weight")
      .Attr(&SpectralNormAttrs::dim, "dim", "the axis that becomes the rows", AtLeast(0))
      .Attr(&SpectralNormAttrs::power_iters, "power_iters", "steps of the power method",
            Between(0, kMostIterations))
      .Attr(&SpectralNormAttrs::eps, "eps", "added to lengths that are divided by", AtLeast(0))
      .Shape([](InferContext& ctx) {
        CheckInputs(ctx);
        ctx.SetOutput(kOut, ctx.dims(kWeight));
      })
      .Grad(CallGradient);
}

template <class T>
struct SpectralNormKernel {
  static void Compute(KernelContext& ctx) {
    if (ctx.In(kWeight).numel() == 0) return;
    spectral::Divide<T>(ctx, &ctx.Out(kOut));
  }
};

namespace grad {
constexpr int kOutGrad = 3, kWeightGrad = 0;

void DefineSpectralNormGrad(OpDef& op) {
  op.Comment("Weight@GRAD = Out@GRAD / sigma - sum(Out@GRAD * W) / sigma^2 * u v^T.")
      .Input(kWeight, "Weight", "as of the forward call")
      .Input(kU, "U", "as of the forward call")
      .Input(kV, "V", "as of the forward call")
      .Input(kOutGrad, "Out@GRAD", "shape of Weight")
      .Output(kWeightGrad, "Weight@GRAD", "shape of Weight")
      .AttrsOf("spectral_norm")
      .Shape([](InferContext& ctx) {
        CheckInputs(ctx);
        ctx.SetOutput(kWeightGrad, ctx.dims(kWeight));
      })
      .Grad(CallGradient);
}

template <class T>
struct SpectralNormGradKernel {
  static void Compute(KernelContext& ctx) {
    if (ctx.In(kWeight).numel() == 0) return;
    spectral::DivideGradient<T>(ctx, ctx.In(kOutGrad), &ctx.Out(kWeightGrad));
  }
};
}  // namespace grad

namespace grad_grad {
constexpr int kOutGrad = 3, kIncoming = 4, kWeightResult = 0, kOutGradResult = 1;

void DefineSpectralNormGradGrad(OpDef& op);

struct SpectralNormThird {
  static constexpr uint32_t kServes = higher::Slots(kWeight, kOutGrad, kIncoming);
  static void Define(OpDef& op) { DefineSpectralNormGradGrad(op); }
  static std::vector<higher::Input> Inputs(const KernelContext&) {
    return {{kWeight, kIncoming, kWeightResult}};
  }
  static std::vector<higher::Result> Results(const KernelContext&) {
    return {{kOutGrad, kOutGradResult}};
  }
  static void Run(higher::Problem& p) {
    const Tensor& weight = p.ctx.In(kWeight);
    if (weight.numel() == 0) return;
    Matrix m = weight.dtype() == DType::kFloat64 ? Matrix(p.ctx, double()) : Matrix(p.ctx, float());
    std::vector<higher::Scalar> w = p.Leaves(0, 0, weight.numel()), along;
    for (int64_t i = 0; i < weight.numel(); ++i)
      along.push_back(kernels::Constant(m.Direction(m.Place(i))));
    higher::Scalar sigma =
        kernels::ScalarTape::Current().Dot({}, w.data(), 1, along.data(), 1, weight.numel());
    for (int64_t i = 0; i < weight.numel(); ++i) p.Set(0, i, w[i] / sigma);
  }
};

void DefineSpectralNormGradGrad(OpDef& op) {
  op.Comment(
        "The gradients of sum(Weight@GRAD * X), Weight@GRAD the result of spectral_norm_grad, with "
        "respect to Weight and Out@GRAD.")
      .Input(kWeight, "Weight", "as of the forward call")
      .Input(kU, "U", "as of the forward call")
      .Input(kV, "V", "as of the forward call")
      .Input(kOutGrad, "Out@GRAD", "shape of Weight")
      .Input(kIncoming, "Weight@GRAD@GRAD", "shape of Weight")
      .Output(kWeightResult, "Weight@GRAD", "shape of Weight")
      .Output(kOutGradResult, "Out@GRAD@GRAD", "shape of Weight")
      .AttrsOf("spectral_norm")
      .Shape([](InferContext& ctx) {
        CheckInputs(ctx);
        ctx.SetOutput(kWeightResult, ctx.dims(kWeight));
        ctx.SetOutput(kOutGradResult, ctx.dims(kWeight));
      })
      .Grad(higher::Recipe<SpectralNormThird>);
}

template <class T>
struct SpectralNormGradGradKernel {
  static void Compute(KernelContext& ctx) {
    if (ctx.In(kWeight).numel() == 0) return;
    spectral::DivideSecond<T>(ctx, ctx.In(kOutGrad), ctx.In(kIncoming),
                              ctx.OutOrNull(kOutGradResult), ctx.OutOrNull(kWeightResult));
  }
};
}  // namespace grad_grad
using grad_grad::SpectralNormThird;

REGISTER_OPERATOR(spectral_norm, DefineSpectralNorm);
REGISTER_KERNELS(spectral_norm, SpectralNormKernel, float, double);
REGISTER_OPERATOR(spectral_norm_grad, grad::DefineSpectralNormGrad);
REGISTER_KERNELS(spectral_norm_grad, grad::SpectralNormGradKernel, float, double);
REGISTER_OPERATOR(spectral_norm_grad_grad, grad_grad::DefineSpectralNormGradGrad);
REGISTER_KERNELS(spectral_norm_grad_grad, grad_grad::SpectralNormGradGradKernel, float, double);
REGISTER_THIRD_GRADIENT(spectral_norm_grad_grad, SpectralNormThird);

}  // namespace
}  // namespace dygraph

#include "kernels/fold.h"
#include "op/gradient_call.h"
#include "op/gradient_shapes.h"
#include "op/lod_rule.h"
#include "operators/norm/batch_norm_forms.h"
#include "operators/norm/normalization.h"

namespace dygraph {
namespace {

using batch_norm::BatchNormAttrs;
using batch_norm::ShapeOf;

constexpr batch_norm::Slots kSlots = {-1};
constexpr int kX = 0, kScale = 1, kBias = 2, kMean = 3, kVariance = 4, kMomentum = 5;
constexpr int kY = 0, kMeanOut = 1, kVarianceOut = 2, kSavedMean = 3, kSavedVariance = 4;

void DefineBatchNorm(OpDef& op) {
  op.Comment(
        "Y = Scale * (X - mean) / sqrt(variance + epsilon) + Bias, per channel. Mean and variance "
        "(biased) are those of the "
        "batch, and MeanOut = momentum * Mean + (1 - momentum) * mean, VarianceOut likewise; with "
        "is_test or "
        "use_global_stats they are Mean and Variance. SavedVariance is 1 / sqrt(variance + "
        "epsilon).")
      .Example(
          ">>> x, zero, one = (to_variable(v) for v in ([[0.0], [2.0]], [0.0], [1.0]))\n"
          ">>> y, mean, variance = F.batch_norm(x, one, zero, zero, one)\n"
          ">>> np.round(y.numpy(), 4).tolist(), round(mean.item(), 4), variance.item()\n"
          "([[-1.0], [1.0]], 0.1, 1.0)")
      .Input(kX, "X", "2 to 5 axes, the channels second, or last with data_layout NHWC")
      .Input(kScale, "Scale", "[C]", kWide)
      .Input(kBias, "Bias", "[C]", kWide)
      .Input(kMean, "Mean", "[C], the running mean", kWide)
      .Input(kVariance, "Variance", "[C], the running variance", kWide)
      .Input(kMomentum, "MomentumTensor", "[1], in place of momentum", kDispensable | kWide);
  batch_norm::AllAttrs(batch_norm::Outputs(op))
      .Shape([](InferContext& ctx) { batch_norm::InferShape(ctx, kSlots); })
      .KeepsLayout()
      .ShareLoD(kX)
      .InPlace(kX, kY)
      .InPlace(kMean, kMeanOut)
      .InPlace(kVariance, kVarianceOut)
      .Grad(CallGradient);
}

template <class T>
struct BatchNormKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor* given = ctx.InOrNull(kMomentum);
    const double momentum =
        given ? Item(*given) : NumberFor<kernels::Wide<T>>(ctx.attrs<BatchNormAttrs>().momentum);
    batch_norm::Normalize<T>(ctx, kSlots, false, momentum);
  }
};

namespace grad {
constexpr int kX = 0, kScale = 1, kSavedMean = 2, kSavedVariance = 3, kYGrad = 4;
constexpr int kXGrad = 0, kScaleGrad = 1, kBiasGrad = 2;

void InferGradShape(InferContext& ctx) {
  ctx.SetOutput(kXGrad, ctx.dims(kX));
  ctx.SetOutput(kScaleGrad, ctx.dims(kScale), ctx.dtype(kScale));
  ctx.SetOutput(kBiasGrad, ctx.dims(kScale), ctx.dtype(kScale));
}

void DefineBatchNormGrad(OpDef& op) {
  op.Comment(
        "With x = (X - SavedMean) * SavedVariance: Bias@GRAD = sum(Y@GRAD), Scale@GRAD = "
        "sum(Y@GRAD * x), X@GRAD = Scale * "
        "SavedVariance * (Y@GRAD - mean(Y@GRAD) - x * mean(Y@GRAD * x)), without the means where "
        "the running statistics "
        "were used.")
      .Input(kX, "X", "as of the forward call")
      .Input(kScale, "Scale", "[C]", kWide)
      .Input(kSavedMean, "SavedMean", "[C]", kWide)
      .Input(kSavedVariance, "SavedVariance", "[C], the inverse deviation", kWide)
      .Input(kYGrad, "Y@GRAD", "shape of X")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .Output(kScaleGrad, "Scale@GRAD", "[C]")
      .Output(kBiasGrad, "Bias@GRAD", "[C]")
      .AttrsOf("batch_norm")
      .Shape(InferGradShape)
      .KeepsLayout()
      .Grad(CallGradient);
}

template <class T>
struct BatchNormGradKernel {
  static void Compute(KernelContext& ctx) {
    using W = kernels::Wide<T>;
    const Tensor& x = ctx.In(kX);
    const BatchNormAttrs& a = ctx.attrs<BatchNormAttrs>();
    const T* g = ctx.In(kYGrad).data<T>();
    batch_norm::NormalizeGrad(
        ctx.place(),
        batch_norm::Gradients<T>{ShapeOf(x, a), x.data<T>(), ctx.In(kScale).data<W>(),
                                 ctx.In(kSavedMean).data<W>(), ctx.In(kSavedVariance).data<W>(),
                                 batch_norm::DataOrNull<T>(ctx.OutOrNull(kXGrad)),
                                 batch_norm::DataOrNull<W>(ctx.OutOrNull(kScaleGrad)),
                                 batch_norm::DataOrNull<W>(ctx.OutOrNull(kBiasGrad)), a.global()},
        batch_norm::Arriving<T>{g});
  }
};
}  // namespace grad

namespace grad_grad {
constexpr int kX = 0, kScale = 1, kSavedMean = 2, kSavedVariance = 3, kYGrad = 4, kVX = 5,
              kVScale = 6, kVBias = 7;
constexpr int kXResult = 0, kScaleResult = 1, kYGradResult = 2;

void InferGradGradShape(InferContext& ctx) {
  ctx.SetOutput(kXResult, ctx.dims(kX));
  ctx.SetOutput(kScaleResult, ctx.dims(kScale));
  ctx.SetOutput(kYGradResult, ctx.dims(kX));
}

void DefineBatchNormGradGrad(OpDef& op);

struct BatchNormThird {
  static constexpr uint32_t kServes = higher::Slots(kX, kScale, kYGrad, kVX, kVScale, kVBias);
  static void Define(OpDef& op) { DefineBatchNormGradGrad(op); }
  static std::vector<higher::Input> Inputs(const KernelContext&) {
    return {{kX, kVX, kXResult}, {kScale, kVScale, kScaleResult}, {-1, kVBias, -1}};
  }
  static std::vector<higher::Result> Results(const KernelContext&) {
    return {{kYGrad, kYGradResult}};
  }
  template <class T>
  static double At(const Tensor& t, int64_t i) {
    return static_cast<double>(t.data<T>()[i]);
  }
  static void Run(higher::Problem& p) {
    const BatchNormAttrs& a = p.ctx.attrs<BatchNormAttrs>();
    const Tensor &x = p.ctx.In(kX), &mean = p.ctx.In(kSavedMean),
                 &inverse = p.ctx.In(kSavedVariance);
    kernels::ChannelShape s = ShapeOf(x, a);
    auto at = x.dtype() == DType::kFloat64 ? At<double> : At<float>;
    for (int64_t c = 0; c < s.channels && x.numel() > 0; ++c) {
      auto place = [&](int64_t j) {
        return (j / s.inner * s.channels + c) * s.inner + j % s.inner;
      };
      if (!a.global()) {
        row_norm::grad_grad::RunRow(p, s.count(), true, NumberFor(x.dtype(), a.epsilon), place,
                                    [c](int64_t) { return c; });
        continue;
      }
      for (int64_t j = 0; j < s.count(); ++j) {
        higher::Scalar y = (p.Leaf(0, place(j)) - at(mean, c)) * at(inverse, c) * p.Leaf(1, c);
        p.Set(0, place(j), p.Has(2) ? y + p.Leaf(2, c) : y);
      }
      p.Flush();
    }
  }
};

void DefineBatchNormGradGrad(OpDef& op) {
  op.Comment(
        "The gradients of sum(X@GRAD * V) + sum(Scale@GRAD * VScale) + sum(Bias@GRAD * VBias), the "
        "results of batch_norm_grad, "
        "with respect to X, Scale and Y@GRAD.")
      .Input(kX, "X", "as of the forward call")
      .Input(kScale, "Scale", "[C]")
      .Input(kSavedMean, "SavedMean", "[C]")
      .Input(kSavedVariance, "SavedVariance", "[C], the inverse deviation")
      .Input(kYGrad, "Y@GRAD", "shape of X")
      .Input(kVX, "X@GRAD@GRAD", "shape of X", kDispensable)
      .Input(kVScale, "Scale@GRAD@GRAD", "[C]", kDispensable)
      .Input(kVBias, "Bias@GRAD@GRAD", "[C]", kDispensable)
      .Output(kXResult, "X@GRAD", "shape of X")
      .Output(kScaleResult, "Scale@GRAD", "[C]")
      .Output(kYGradResult, "Y@GRAD@GRAD", "shape of X")
      .AttrsOf("batch_norm")
      .Shape(InferGradGradShape)
      .KeepsLayout()
      .Grad(higher::Recipe<BatchNormThird>);
}

// Means over a channel; x is normalised.
struct Means {
  double g, v, gx, vx, vg;
  DYGRAPH_INLINE Means operator+(Means b) const {
    return {g + b.g, v + b.v, gx + b.gx, vx + b.vx, vg + b.vg};
  }
};

// Where element j of a channel lies.
struct ChannelPlace {
  int64_t channels, inner, channel;
  DYGRAPH_INLINE int64_t operator()(int64_t j) const {
    if (inner == 1) return j * channels + channel;
    return (j / inner * channels + channel) * inner + j % inner;
  }
};

template <class T>
struct BatchNormGradGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    const BatchNormAttrs& a = ctx.attrs<BatchNormAttrs>();
    kernels::ChannelShape s = ShapeOf(x, a);
    const T *xd = x.data<T>(), *gd = ctx.In(kYGrad).data<T>();
    auto data = [&](int slot) {
      const Tensor* t = ctx.InOrNull(slot);
      return t ? t->data<T>() : nullptr;
    };
    auto out = [&](int slot) {
      Tensor* t = ctx.OutOrNull(slot);
      return t ? t->mutable_data<T>() : nullptr;
    };
    const T *vd = data(kVX), *v_scale = data(kVScale), *v_bias = data(kVBias);
    const T *scales = data(kScale), *means = data(kSavedMean), *inverses = data(kSavedVariance);
    T *to_x = out(kXResult), *to_scale = out(kScaleResult), *to_g = out(kYGradResult);
    bool global = a.global();
    kernels::ForEachRowPlain(
        s.channels, s.count(),
        [=] DYGRAPH_FN(int64_t c, kernels::Team team) {
          const double mu = means[c], inv = inverses[c], f = scales[c];
          const double vs = v_scale ? v_scale[c] : 0.0, vb = v_bias ? v_bias[c] : 0.0;
          const double count = static_cast<double>(s.count());
          const ChannelPlace place{s.channels, s.inner, c};
          Means m = kernels::Fold(
              team, s.count(), Means{0, 0, 0, 0, 0},
              [=](int64_t j) {
                const int64_t i = place(j);
                const double xh = (static_cast<double>(xd[i]) - mu) * inv;
                const double g = gd[i], v = vd ? static_cast<double>(vd[i]) : 0.0;
                return Means{g / count, v / count, g * xh / count, v * xh / count, v * g / count};
              },
              kernels::Sum());
          if (global) m.g = m.v = m.gx = m.vx = 0;  // no statistic depends on X
          const double rest = m.vg - m.v * m.g - m.vx * m.gx;
          team.Once([=] {
            if (to_scale) to_scale[c] = static_cast<T>(inv * count * rest);
          });
          if (!to_g && !to_x) return;
          team.Each(s.count(), [=](int64_t j) {
            const int64_t i = place(j);
            const double xh = (static_cast<double>(xd[i]) - mu) * inv;
            const double g = gd[i], v = vd ? static_cast<double>(vd[i]) : 0.0;
            if (to_g) to_g[i] = static_cast<T>(f * inv * (v - m.v - xh * m.vx) + vs * xh + vb);
            if (!to_x) return;
            double dx = vs * inv * (g - m.g - xh * m.gx);
            if (!global)
              dx -= f * inv * inv *
                    (xh * rest + m.vx * (g - m.g - xh * m.gx) + m.gx * (v - m.v - xh * m.vx));
            to_x[i] = static_cast<T>(dx);
          });
        },
        12);
  }
};
}  // namespace grad_grad
using grad_grad::BatchNormThird;

bool MakeEpilogue(const Call& call, Epilogue* to) {
  return batch_norm::MakeEpilogue(call, kSlots, false, to);
}
REGISTER_EPILOGUE(batch_norm, MakeEpilogue);
REGISTER_GRADIENT_SHAPES(batch_norm, {"Bias", "Scale"}, {"Mean", "Scale"}, {"Variance", "Scale"},
                         {"MomentumTensor", ""});
REGISTER_OPERATOR(batch_norm, DefineBatchNorm);
REGISTER_LOD_RULE(batch_norm, RowsOfFirstOutput);
REGISTER_KERNELS(batch_norm, BatchNormKernel, float, double);
REGISTER_DEVICE_TYPES(batch_norm, BatchNormKernel, float16, bfloat16);
REGISTER_OPERATOR(batch_norm_grad, grad::DefineBatchNormGrad);
REGISTER_KERNELS(batch_norm_grad, grad::BatchNormGradKernel, float, double);
REGISTER_DEVICE_TYPES(batch_norm_grad, grad::BatchNormGradKernel, float16, bfloat16);
REGISTER_OPERATOR(batch_norm_grad_grad, grad_grad::DefineBatchNormGradGrad);
REGISTER_KERNELS(batch_norm_grad_grad, grad_grad::BatchNormGradGradKernel, float, double);
REGISTER_THIRD_GRADIENT(batch_norm_grad_grad, BatchNormThird);

}  // namespace
}  // namespace dygraph

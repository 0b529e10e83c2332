#include <cmath>

#include "kernels/batch_norm.h"
#include "op/op_registry.h"

namespace dygraph {
namespace {

constexpr int kX = 0, kScale = 1, kBias = 2, kMean = 3, kVariance = 4, kMomentum = 5;
constexpr int kY = 0, kMeanOut = 1, kVarianceOut = 2, kSavedMean = 3, kSavedVariance = 4,
              kReserve = 5;

struct BatchNormAttrs {
  float momentum = 0.9f;
  float epsilon = 1e-5f;
  std::string data_layout = "NCHW";
  bool is_test = false;
  bool use_global_stats = false;
  bool trainable_statistics = false;
  bool channels_last() const { return data_layout == "NHWC"; }
  bool global() const { return use_global_stats || (is_test && !trainable_statistics); }
};

int64_t ChannelsOf(const Dims& x, const BatchNormAttrs& a) {
  return a.channels_last() ? x.back() : x[1];
}

// X as [outer, channels, inner] in memory order.
kernels::ChannelShape ShapeOf(const Tensor& x, const BatchNormAttrs& a) {
  Dims order = PhysicalDims(x);
  int rank = order.rank(), axis = a.channels_last() ? rank - 1 : 1;
  if (x.layout() == Layout::kNHWC) axis = axis == 1 ? rank - 1 : axis - 1;
  return {Numel(order, 0, axis), order[axis], Numel(order, axis + 1, rank)};
}

void CheckVector(InferContext& ctx, int slot, const char* name, int64_t channels) {
  const Dims& d = ctx.dims(slot);
  ENFORCE(d.rank() == 1 && (d[0] == channels || !BothKnown(d[0], channels)), InvalidArgument, name,
          " must have one number for each of the ", channels, " channels of X, got shape ", d);
}

void InferShape(InferContext& ctx) {
  const Dims& x = ctx.dims(kX);
  const BatchNormAttrs& a = ctx.attrs<BatchNormAttrs>();
  ENFORCE(x.rank() >= 2 && x.rank() <= 5, InvalidArgument, "X must have 2 to 5 axes, got shape ",
          x);
  int64_t channels = ChannelsOf(x, a);
  const char* names[] = {"Scale", "Bias", "Mean", "Variance"};
  for (int i = 0; i < 4; ++i) CheckVector(ctx, kScale + i, names[i], channels);
  if (ctx.runtime() && !a.global()) {
    int64_t count = 1;
    for (int64_t d : x) count *= d;
    ENFORCE(count > 0, InvalidArgument,
            "X must not be empty where its own statistics are taken, got shape ", x);
  }
  ctx.SetOutput(kY, x);
  for (int slot = kMeanOut; slot <= kSavedVariance; ++slot) ctx.SetOutput(slot, Dims{channels});
  ctx.SetOutput(kReserve, Dims{0});
}

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
      .Input(kScale, "Scale", "[C]")
      .Input(kBias, "Bias", "[C]")
      .Input(kMean, "Mean", "[C], the running mean")
      .Input(kVariance, "Variance", "[C], the running variance")
      .Input(kMomentum, "MomentumTensor", "[1], in place of momentum", kDispensable)
      .Output(kY, "Y", "shape of X")
      .Output(kMeanOut, "MeanOut", "[C], may be Mean")
      .Output(kVarianceOut, "VarianceOut", "[C], may be Variance")
      .Output(kSavedMean, "SavedMean", "[C], the mean used", kIntermediate)
      .Output(kSavedVariance, "SavedVariance", "[C], the inverse deviation used", kIntermediate)
      .Output(kReserve, "ReserveSpace", "empty: of other devices", kExtra)
      .Attr(&BatchNormAttrs::momentum, "momentum", "share of the old running statistics")
      .Attr(&BatchNormAttrs::epsilon, "epsilon", "added to the variance", Between(0, 1))
      .Attr(&BatchNormAttrs::data_layout, "data_layout", "where the channels are",
            OneOf({"NCHW", "NHWC", "AnyLayout"}))
      .Attr(&BatchNormAttrs::is_test, "is_test", "use the running statistics")
      .Attr(&BatchNormAttrs::use_global_stats, "use_global_stats", "use them in training too")
      .Attr(&BatchNormAttrs::trainable_statistics, "trainable_statistics",
            "use the batch's although is_test")
      .Shape(InferShape)
      .KeepsLayout()
      .ShareLoD(kX)
      .InPlace(kMean, kMeanOut)
      .InPlace(kVariance, kVarianceOut)
      .Grad([](GradBuilder& g) {
        g.Call("batch_norm_grad",
               {g.Input(kX), g.Input(kScale), g.Output(kSavedMean), g.Output(kSavedVariance),
                g.OutputGrad(kY)},
               {g.InputGrad(kX), g.InputGrad(kScale), g.InputGrad(kBias)})
            .SameAttrs();
      });
}

template <class T>
struct BatchNormKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    const BatchNormAttrs& a = ctx.attrs<BatchNormAttrs>();
    kernels::ChannelShape s = ShapeOf(x, a);
    const T* mean = ctx.In(kMean).data<T>();
    const T* variance = ctx.In(kVariance).data<T>();
    int64_t n = s.channels;
    std::vector<double> m(mean, mean + n), v(variance, variance + n);
    if (!a.global()) kernels::ChannelMoments(x.data<T>(), s, m.data(), v.data());
    const Tensor* momentum_tensor = ctx.InOrNull(kMomentum);
    double momentum = momentum_tensor ? Item(*momentum_tensor) : a.momentum;
    if (a.global()) momentum = 1;
    Update(mean, m, momentum, ctx.OutOrNull(kMeanOut));
    Update(variance, v, momentum, ctx.OutOrNull(kVarianceOut));
    const T *scale = ctx.In(kScale).data<T>(), *bias = ctx.In(kBias).data<T>();
    Tensor *saved_mean = ctx.OutOrNull(kSavedMean), *saved_variance = ctx.OutOrNull(kSavedVariance);
    std::vector<T> vectors(4 * n);
    for (int64_t c = 0; c < n; ++c) {
      double inverse = 1 / std::sqrt(v[c] + static_cast<double>(a.epsilon));
      if (saved_mean) saved_mean->mutable_data<T>()[c] = static_cast<T>(m[c]);
      if (saved_variance) saved_variance->mutable_data<T>()[c] = static_cast<T>(inverse);
      vectors[c] = static_cast<T>(m[c]);
      vectors[n + c] = static_cast<T>(static_cast<double>(scale[c]) * inverse);
      // What the mean loses in T goes into the summand.
      double lost = (m[c] - static_cast<double>(vectors[c])) * static_cast<double>(vectors[n + c]);
      vectors[2 * n + c] = static_cast<T>(static_cast<double>(bias[c]) - lost);
    }
    const T* xd = x.data<T>();
    kernels::ChannelMap(s, vectors.data(), ctx.Out(kY).mutable_data<T>(),
                        [xd](int64_t i, T mc, T f, T b, T) { return (xd[i] - mc) * f + b; });
  }
  // The running value may be written where it stands.
  static void Update(const T* old, const std::vector<double>& batch, double momentum, Tensor* out) {
    if (!out) return;
    T* to = out->mutable_data<T>();
    for (size_t c = 0; c < batch.size(); ++c) {
      to[c] =
          momentum == 1
              ? old[c]
              : static_cast<T>(momentum * static_cast<double>(old[c]) + (1 - momentum) * batch[c]);
    }
  }
};

namespace grad {
constexpr int kX = 0, kScale = 1, kSavedMean = 2, kSavedVariance = 3, kYGrad = 4;
constexpr int kXGrad = 0, kScaleGrad = 1, kBiasGrad = 2;

void InferGradShape(InferContext& ctx) {
  ctx.SetOutput(kXGrad, ctx.dims(kX));
  ctx.SetOutput(kScaleGrad, ctx.dims(kScale));
  ctx.SetOutput(kBiasGrad, ctx.dims(kScale));
}

void DefineBatchNormGrad(OpDef& op) {
  op.Comment(
        "With x = (X - SavedMean) * SavedVariance: Bias@GRAD = sum(Y@GRAD), Scale@GRAD = "
        "sum(Y@GRAD * x), X@GRAD = Scale * "
        "SavedVariance * (Y@GRAD - mean(Y@GRAD) - x * mean(Y@GRAD * x)), without the means where "
        "the running statistics "
        "were used.")
      .Input(kX, "X", "as of the forward call")
      .Input(kScale, "Scale", "[C]")
      .Input(kSavedMean, "SavedMean", "[C]")
      .Input(kSavedVariance, "SavedVariance", "[C], the inverse deviation")
      .Input(kYGrad, "Y@GRAD", "shape of X")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .Output(kScaleGrad, "Scale@GRAD", "[C]")
      .Output(kBiasGrad, "Bias@GRAD", "[C]")
      .AttrsOf("batch_norm")
      .Shape(InferGradShape)
      .KeepsLayout()
      .Grad([](GradBuilder& g) {
        g.Call("batch_norm_grad_grad",
               {g.Input(kX), g.Input(kScale), g.Input(kSavedMean), g.Input(kSavedVariance),
                g.Input(kYGrad), g.OutputGrad(kXGrad), g.OutputGrad(kScaleGrad),
                g.OutputGrad(kBiasGrad)},
               {g.InputGrad(kX), g.InputGrad(kScale), g.InputGrad(kYGrad)})
            .SameAttrs();
      });
}

template <class T>
struct BatchNormGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& x = ctx.In(kX);
    const BatchNormAttrs& a = ctx.attrs<BatchNormAttrs>();
    kernels::ChannelShape s = ShapeOf(x, a);
    int64_t n = s.channels;
    const T *xd = x.data<T>(), *g = ctx.In(kYGrad).data<T>(), *scale = ctx.In(kScale).data<T>();
    const T *mean = ctx.In(kSavedMean).data<T>(), *inverse = ctx.In(kSavedVariance).data<T>();
    std::vector<double> sum_g(n), sum_gx(n);
    Tensor *dx = ctx.OutOrNull(kXGrad), *dscale = ctx.OutOrNull(kScaleGrad),
           *dbias = ctx.OutOrNull(kBiasGrad);
    if (dscale || dbias || !a.global())
      kernels::ChannelGradSums(xd, g, mean, s, sum_g.data(), sum_gx.data());
    for (int64_t c = 0; c < n; ++c) {
      if (dscale)
        dscale->mutable_data<T>()[c] = static_cast<T>(sum_gx[c] * static_cast<double>(inverse[c]));
      if (dbias) dbias->mutable_data<T>()[c] = static_cast<T>(sum_g[c]);
    }
    if (!dx) return;
    std::vector<T> vectors(4 * n);  // mean, and the factors of g, x - mean and 1
    double count = static_cast<double>(s.count());
    for (int64_t c = 0; c < n; ++c) {
      double inv = static_cast<double>(inverse[c]), f = static_cast<double>(scale[c]) * inv;
      vectors[c] = mean[c];
      vectors[n + c] = static_cast<T>(f);
      if (a.global()) continue;
      vectors[2 * n + c] = static_cast<T>(-f * inv * inv * sum_gx[c] / count);
      vectors[3 * n + c] = static_cast<T>(-f * sum_g[c] / count);
    }
    T* to = dx->mutable_data<T>();
    if (a.global()) {
      kernels::ChannelMap(s, vectors.data(), to, [g](int64_t i, T, T f, T, T) { return g[i] * f; });
    } else {
      kernels::ChannelMap(s, vectors.data(), to, [g, xd](int64_t i, T mc, T f, T q, T r) {
        return g[i] * f + ((xd[i] - mc) * q + r);
      });
    }
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

void DefineBatchNormGradGrad(OpDef& op) {
  op.Comment(
        "The gradients of sum(X@GRAD * V) + sum(Scale@GRAD * VScale) + sum(Bias@GRAD * VBias), the "
        "results of batch_norm_grad, "
        "with respect to X, Scale and Y@GRAD. It has no gradient of its own: batch_norm can be "
        "differentiated twice.")
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
      .KeepsLayout();
}

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
    kernels::ParallelRows(s.channels, s.count() * 12, [=](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        double mu = means[c], inv = inverses[c], f = scales[c];
        double vs = v_scale ? v_scale[c] : 0.0, vb = v_bias ? v_bias[c] : 0.0;
        double count = static_cast<double>(s.count());
        double g_mean = 0, v_mean = 0, gx = 0, vx = 0,
               vg = 0;  // means over the channel; x is normalised
        auto each = [&](auto body) {
          for (int64_t o = 0; o < s.outer; ++o) {
            for (int64_t k = 0; k < s.inner; ++k) {
              int64_t i = (o * s.channels + c) * s.inner + k;
              body(i, (static_cast<double>(xd[i]) - mu) * inv, static_cast<double>(gd[i]),
                   vd ? static_cast<double>(vd[i]) : 0.0);
            }
          }
        };
        each([&](int64_t, double xh, double g, double v) {
          g_mean += g / count;
          v_mean += v / count;
          gx += g * xh / count;
          vx += v * xh / count;
          vg += v * g / count;
        });
        if (global) g_mean = v_mean = gx = vx = 0;  // no statistic depends on X
        double rest = vg - v_mean * g_mean - vx * gx;
        if (to_scale) to_scale[c] = static_cast<T>(inv * count * rest);
        if (!to_g && !to_x) continue;
        each([&](int64_t i, double xh, double g, double v) {
          if (to_g) to_g[i] = static_cast<T>(f * inv * (v - v_mean - xh * vx) + vs * xh + vb);
          if (!to_x) return;
          double dx = vs * inv * (g - g_mean - xh * gx);
          if (!global)
            dx -= f * inv * inv *
                  (xh * rest + vx * (g - g_mean - xh * gx) + gx * (v - v_mean - xh * vx));
          to_x[i] = static_cast<T>(dx);
        });
      }
    });
  }
};
}  // namespace grad_grad

REGISTER_OPERATOR(batch_norm, DefineBatchNorm);
REGISTER_CPU_KERNEL(batch_norm, BatchNormKernel, float, double);
REGISTER_OPERATOR(batch_norm_grad, grad::DefineBatchNormGrad);
REGISTER_CPU_KERNEL(batch_norm_grad, grad::BatchNormGradKernel, float, double);
REGISTER_OPERATOR(batch_norm_grad_grad, grad_grad::DefineBatchNormGradGrad);
REGISTER_CPU_KERNEL(batch_norm_grad_grad, grad_grad::BatchNormGradGradKernel, float, double);

}  // namespace
}  // namespace dygraph

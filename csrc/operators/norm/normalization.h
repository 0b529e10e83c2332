// What layer_norm, group_norm and instance_norm share: slots, shape rules, gradients and their
// gradients. An operator brings a Norm:
//
//   struct Norm {
//     using Attrs = ...;
//     static constexpr const char *kName, *kMean, *kVariance;
//     static constexpr bool kInverse;  // the variance kept is 1 / sqrt(variance + epsilon)
//     static Dims ParamDims(const Dims& x, const Attrs&);  // throws where X does not fit
//     static Dims StatDims(const Dims& x, const Attrs&);
//     static kernels::RowNormShape Rows(const Dims& x, const Attrs&);
//     static bool ChannelsLast(const Attrs&);
//   };
#pragma once

#include <cmath>
#include <vector>

#include "kernels/convert.h"
#include "kernels/elementwise.h"
#include "kernels/row_norm.h"
#include "op/gradient_call.h"
#include "operators/channels.h"
#include "operators/higher_gradient.h"

namespace dygraph::row_norm {

constexpr int kX = 0, kScale = 1, kBias = 2, kY = 0, kMean = 1, kVariance = 2;

inline void CheckParam(InferContext& ctx, int slot, const char* name, const Dims& dims) {
  if (!ctx.HasInput(slot)) return;
  const Dims& d = ctx.dims(slot);
  ENFORCE(d.rank() == 1 && (d[0] == dims[0] || !BothKnown(d[0], dims[0])), InvalidArgument, name,
          " must have shape ", dims, " for X ", ctx.dims(kX), ", got ", d);
}

// Gradient operators stand in programs that others wrote: what they read is checked as well, here
// where the forward call's own rule cannot be asked, since it has inputs that they do not see.
inline void CheckSize(InferContext& ctx, int slot, const char* name, const Dims& dims) {
  if (!ctx.HasInput(slot)) return;
  const Dims& d = ctx.dims(slot);
  ENFORCE(d == dims || d.HasUnknown() || dims.HasUnknown(), InvalidArgument, name,
          " must have shape ", dims, " for X ", ctx.dims(kX), ", got ", d);
}
template <class Norm>
void CheckStats(InferContext& ctx, int mean, int variance) {
  Dims stats = Norm::StatDims(ctx.dims(kX), ctx.attrs<typename Norm::Attrs>());
  CheckSize(ctx, mean, Norm::kMean, stats);
  CheckSize(ctx, variance, Norm::kVariance, stats);
  ENFORCE(!ctx.runtime() || Numel(stats) == 0 || Numel(ctx.dims(kX)) > 0, InvalidArgument,
          "each group that is normalised must have elements, got X of shape ", ctx.dims(kX));
}

// Sizes from `begin` on; -1 where one is unknown.
inline int64_t Product(const Dims& d, int begin, int end) {
  int64_t n = 1;
  for (int i = begin; i < end; ++i) n = MulSizes(n, d[i]);
  return n;
}

// The parameter's numbers, or `value` for each where there is none.
template <class T>
class Param {
 public:
  Param(Place place, const Tensor* t, int64_t n, T value)
      : filled_(place, t ? 0 : static_cast<size_t>(n) * sizeof(T)),
        data_(t ? t->data<T>() : filled_.template as<T>()) {
    if (!t) kernels::Fill(filled_.template as<T>(), n, value);
  }
  const T* data() const { return data_; }

 private:
  Scratch filled_;
  const T* data_;
};

template <class T>
void Zero(Tensor* t) {
  if (t) kernels::Fill(t->mutable_data<T>(), t->numel(), T(0));
}
template <class T>
const T* DataOrNull(const Tensor* t) {
  return t ? t->data<T>() : nullptr;
}

// to = 1 / sqrt(variance + epsilon).
template <class T>
void Invert(const T* variance, int64_t rows, double epsilon, T* to) {
  const double added = NumberFor<T>(epsilon);
  kernels::MapPlain(variance, to, rows, [=] DYGRAPH_FN(T v) {
    return static_cast<T>(1 / std::sqrt(static_cast<double>(v) + added));
  });
}

// The inverse deviations of rows: `variance` itself where it holds them.
template <class T>
class Inverses {
 public:
  Inverses(Place place, const T* variance, int64_t rows, bool inverse, double epsilon)
      : room_(place, inverse ? 0 : static_cast<size_t>(rows) * sizeof(T)), data_(variance) {
    if (inverse) return;
    Invert(variance, rows, epsilon, room_.template as<T>());
    data_ = room_.template as<T>();
  }
  const T* data() const { return data_; }

 private:
  Scratch room_;
  const T* data_;
};

template <class Norm>
void InferShape(InferContext& ctx) {
  const typename Norm::Attrs& a = ctx.attrs<typename Norm::Attrs>();
  const Dims& x = ctx.dims(kX);
  Dims params = Norm::ParamDims(x, a), stats = Norm::StatDims(x, a);
  CheckParam(ctx, kScale, "Scale", params);
  CheckParam(ctx, kBias, "Bias", params);
  if (ctx.runtime()) {
    int64_t rows = Numel(stats);
    ENFORCE(rows == 0 || Numel(x) > 0, InvalidArgument,
            "each group that is normalised must have elements, got X of shape ", x);
  }
  ctx.SetOutput(kY, x);
  ctx.SetOutput(kMean, stats, WideOf(ctx.dtype(kX)));
  ctx.SetOutput(kVariance, stats, WideOf(ctx.dtype(kX)));
}

template <class Norm>
OpDef& DefineSlots(OpDef& op) {
  return op.Input(kX, "X", Norm::kXHelp)
      .Input(kScale, "Scale", Norm::kParamHelp, kDispensable | kWide)
      .Input(kBias, "Bias", Norm::kParamHelp, kDispensable | kWide)
      .Output(kY, "Y", "shape of X")
      .Output(kMean, Norm::kMean, "the means", kIntermediate)
      .Output(kVariance, Norm::kVariance,
              Norm::kInverse ? "1 / sqrt(variance + epsilon)" : "the variances, biased",
              kIntermediate)
      .Attr(&Norm::Attrs::epsilon, "epsilon", "added to the variance", Between(0, 1))
      .Shape(InferShape<Norm>)
      .Grad(CallGradient);
}

template <class Norm>
struct Forward {
  template <class T>
  struct Kernel {
    using W = kernels::Wide<T>;
    static void Compute(KernelContext& ctx) {
      const typename Norm::Attrs& a = ctx.attrs<typename Norm::Attrs>();
      bool last = Norm::ChannelsLast(a);
      const Tensor& given = ctx.In(kX);
      if (given.numel() == 0) return;
      kernels::RowNormShape s = Norm::Rows(given.dims(), a);
      Tensor x = channels::Second(given, last);
      Param<W> scale(ctx.place(), ctx.InOrNull(kScale), s.params(), W(1)),
          bias(ctx.place(), ctx.InOrNull(kBias), s.params(), W(0));
      channels::Result<T> y(&ctx.Out(kY), last);
      Tensor *mean = ctx.OutOrNull(kMean), *variance = ctx.OutOrNull(kVariance);
      W* v = variance ? variance->mutable_data<W>() : nullptr;
      kernels::RowNorm<T>(x.data<T>(), scale.data(), bias.data(), s, NumberFor<W>(a.epsilon),
                          y.data(), mean ? mean->mutable_data<W>() : nullptr, v);
      if (v && Norm::kInverse) Invert(v, s.rows, a.epsilon, v);
      y.Finish();
    }
  };
};

namespace grad {
constexpr int kX = 0, kScale = 1, kBias = 2, kMean = 3, kVariance = 4, kYGrad = 5;
constexpr int kXGrad = 0, kScaleGrad = 1, kBiasGrad = 2;

inline void InferGradShape(InferContext& ctx) {
  ctx.SetOutput(kXGrad, ctx.dims(kX));
  const DType wide = WideOf(ctx.dtype(kX));
  if (ctx.HasInput(kScale)) ctx.SetOutput(kScaleGrad, ctx.dims(kScale), wide);
  if (ctx.HasInput(kBias)) ctx.SetOutput(kBiasGrad, ctx.dims(kBias), wide);
}

template <class Norm>
void Define(OpDef& op) {
  op.Comment(
        "With u = (X - mean) / deviation and h = Y@GRAD * Scale: X@GRAD = (h - mean(h) - u * "
        "mean(h * u)) / deviation, Scale@GRAD = sum(Y@GRAD * u), Bias@GRAD = sum(Y@GRAD).")
      .Input(kX, "X", "as of the forward call")
      .Input(kScale, "Scale", "as of the forward call", kDispensable | kWide)
      .Input(kBias, "Bias", "its shape", kDispensable | kShapeOnly | kWide)
      .Input(kMean, Norm::kMean, "as the forward call gave it", kWide)
      .Input(kVariance, Norm::kVariance, "as the forward call gave it", kWide)
      .Input(kYGrad, "Y@GRAD", "shape of X")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .Output(kScaleGrad, "Scale@GRAD", "shape of Scale")
      .Output(kBiasGrad, "Bias@GRAD", "shape of Bias")
      .AttrsOf(Norm::kName)
      .Shape(InferGradShape)
      .Grad(CallGradient);
}

template <class Norm>
struct Backward {
  template <class T>
  struct Kernel {
    using W = kernels::Wide<T>;
    static void Compute(KernelContext& ctx) {
      const typename Norm::Attrs& a = ctx.attrs<typename Norm::Attrs>();
      bool last = Norm::ChannelsLast(a);
      const Tensor& given = ctx.In(kX);
      Tensor *dscale = ctx.OutOrNull(kScaleGrad), *dbias = ctx.OutOrNull(kBiasGrad);
      if (given.numel() == 0) {
        Zero<W>(dscale);
        Zero<W>(dbias);
        return;
      }
      kernels::RowNormShape s = Norm::Rows(given.dims(), a);
      Tensor x = channels::Second(given, last), g = channels::Second(ctx.In(kYGrad), last);
      Param<W> scale(ctx.place(), ctx.InOrNull(kScale), s.params(), W(1));
      Inverses<W> inverse(ctx.place(), ctx.In(kVariance).data<W>(), s.rows, Norm::kInverse,
                          a.epsilon);
      channels::Result<T> dx(ctx.OutOrNull(kXGrad), last);
      kernels::RowNormGrad<T>(x.data<T>(), g.data<T>(), scale.data(), ctx.In(kMean).data<W>(),
                              inverse.data(), s, dx.data(),
                              dscale ? dscale->mutable_data<W>() : nullptr,
                              dbias ? dbias->mutable_data<W>() : nullptr);
      dx.Finish();
    }
  };
};
}  // namespace grad

namespace grad_grad {
constexpr int kX = 0, kScale = 1, kMean = 2, kVariance = 3, kYGrad = 4, kV = 5, kVScale = 6,
              kVBias = 7;
constexpr int kXResult = 0, kScaleResult = 1, kYGradResult = 2;

template <class Norm>
void InferGradGradShape(InferContext& ctx) {
  const Dims& x = ctx.dims(kX);
  Dims params = Norm::ParamDims(x, ctx.attrs<typename Norm::Attrs>());
  CheckParam(ctx, kScale, "Scale", params);
  CheckParam(ctx, kVBias, "Bias@GRAD@GRAD", params);
  CheckStats<Norm>(ctx, kMean, kVariance);
  CheckSize(ctx, kYGrad, "Y@GRAD", x);
  ctx.SetOutput(kXResult, x);
  if (ctx.HasInput(kScale)) ctx.SetOutput(kScaleResult, ctx.dims(kScale));
  ctx.SetOutput(kYGradResult, ctx.dims(kX));
}

template <class Norm>
struct Third;

template <class Norm>
void Define(OpDef& op) {
  op.Comment(
        "The gradients of sum(X@GRAD * V) + sum(Scale@GRAD * VScale) + sum(Bias@GRAD * VBias), the "
        "results of the gradient operator, with respect to X, Scale and Y@GRAD.")
      .Input(kX, "X", "as of the forward call")
      .Input(kScale, "Scale", "as of the forward call", kDispensable)
      .Input(kMean, Norm::kMean, "as the forward call gave it")
      .Input(kVariance, Norm::kVariance, "as the forward call gave it")
      .Input(kYGrad, "Y@GRAD", "shape of X")
      .Input(kV, "X@GRAD@GRAD", "shape of X", kDispensable)
      .Input(kVScale, "Scale@GRAD@GRAD", "shape of Scale", kDispensable)
      .Input(kVBias, "Bias@GRAD@GRAD", "shape of Bias", kDispensable)
      .Output(kXResult, "X@GRAD", "shape of X")
      .Output(kScaleResult, "Scale@GRAD", "shape of Scale")
      .Output(kYGradResult, "Y@GRAD@GRAD", "shape of X")
      .AttrsOf(Norm::kName)
      .Shape(InferGradGradShape<Norm>)
      .Grad(higher::Recipe<Third<Norm>>);
}

// A row: y = (x - mean) / deviation * scale + bias. `place(j)` is where element j lies.
template <class PlaceOf, class ParamOf>
void RunRow(higher::Problem& p, int64_t n, bool centered, double epsilon, const PlaceOf& place,
            const ParamOf& param) {
  std::vector<higher::Scalar> x;
  for (int64_t j = 0; j < n; ++j) x.push_back(p.Leaf(0, place(j)));
  kernels::ScalarTape& tape = kernels::ScalarTape::Current();
  const double share = 1 / static_cast<double>(n);
  if (centered) {
    higher::Scalar mean = tape.Sum(x.data(), 1, n) * share;
    for (higher::Scalar& v : x) v = v - mean;
  }
  higher::Scalar inverse = Pow(tape.Dot({}, x.data(), 1, x.data(), 1, n) * share + epsilon, -0.5);
  for (int64_t j = 0; j < n; ++j) {
    higher::Scalar y = x[j] * inverse;
    if (p.Has(1)) y = y * p.Leaf(1, param(j));
    if (p.Has(2)) y = y + p.Leaf(2, param(j));
    p.Set(0, place(j), y);
  }
  p.Flush();
}

template <class Norm>
struct Third {
  static constexpr uint32_t kServes = higher::Slots(kX, kScale, kYGrad, kV, kVScale, kVBias);
  static void Define(OpDef& op) { grad_grad::Define<Norm>(op); }
  static std::vector<higher::Input> Inputs(const KernelContext&) {
    return {{kX, kV, kXResult}, {kScale, kVScale, kScaleResult}, {-1, kVBias, -1}};
  }
  static std::vector<higher::Result> Results(const KernelContext&) {
    return {{kYGrad, kYGradResult}};
  }
  static void Run(higher::Problem& p) {
    const typename Norm::Attrs& a = p.ctx.attrs<typename Norm::Attrs>();
    const Dims& d = p.ctx.In(kX).dims();
    if (Numel(d) == 0) return;
    kernels::RowNormShape s = Norm::Rows(d, a);
    const bool last = Norm::ChannelsLast(a);
    const int64_t channels = last ? d.back() : 1, pixels = last ? Numel(d, 1, d.rank() - 1) : 1;
    for (int64_t r = 0; r < s.rows; ++r) {
      auto place = [&](int64_t j) {
        int64_t i = r * s.n + j;
        if (!last) return i;
        int64_t sample = i / (channels * pixels), rest = i % (channels * pixels);
        return (sample * pixels + rest % pixels) * channels + rest / pixels;
      };
      RunRow(p, s.n, true, NumberFor(p.ctx.In(kX).dtype(), a.epsilon), place,
             [&](int64_t j) { return r % s.groups * s.per_row() + j / s.inner; });
    }
  }
};

template <class Norm>
struct BackwardTwice {
  template <class T>
  struct Kernel {
    static void Compute(KernelContext& ctx) {
      const typename Norm::Attrs& a = ctx.attrs<typename Norm::Attrs>();
      bool last = Norm::ChannelsLast(a);
      const Tensor& given = ctx.In(kX);
      Tensor* to_scale = ctx.OutOrNull(kScaleResult);
      if (given.numel() == 0) return Zero<T>(to_scale);
      kernels::RowNormShape s = Norm::Rows(given.dims(), a);
      Tensor x = channels::Second(given, last), g = channels::Second(ctx.In(kYGrad), last), v;
      if (const Tensor* t = ctx.InOrNull(kV)) v = channels::Second(*t, last);
      Param<T> scale(ctx.place(), ctx.InOrNull(kScale), s.params(), T(1));
      Inverses<T> inverse(ctx.place(), ctx.In(kVariance).data<T>(), s.rows, Norm::kInverse,
                          a.epsilon);
      channels::Result<T> to_x(ctx.OutOrNull(kXResult), last),
          to_g(ctx.OutOrNull(kYGradResult), last);
      kernels::RowNormGradGrad<T>(
          {x.data<T>(), g.data<T>(), scale.data(), ctx.In(kMean).data<T>(), inverse.data(),
           v.has_data() ? v.data<T>() : nullptr, DataOrNull<T>(ctx.InOrNull(kVScale)),
           DataOrNull<T>(ctx.InOrNull(kVBias)), to_x.data(),
           to_scale ? to_scale->mutable_data<T>() : nullptr, to_g.data()},
          s);
      to_x.Finish();
      to_g.Finish();
    }
  };
};
}  // namespace grad_grad

}  // namespace dygraph::row_norm

// What layer_norm, group_norm and instance_norm share: slots, shape rules, gradients and their
// gradients. An operator brings a Norm:
//
//   struct Norm {
//     using Attrs = ...;
//     static constexpr const char *kName, *kGrad, *kGradGrad, *kMean, *kVariance;
//     static constexpr bool kInverse;  // the variance kept is 1 / sqrt(variance + epsilon)
//     static Dims ParamDims(const Dims& x, const Attrs&);  // throws where X does not fit
//     static Dims StatDims(const Dims& x, const Attrs&);
//     static kernels::RowNormShape Rows(const Dims& x, const Attrs&);
//     static bool ChannelsLast(const Attrs&);
//   };
#pragma once

#include <cmath>
#include <vector>

#include "kernels/row_norm.h"
#include "operators/channels.h"

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
          "what is normalised together must not be empty, got X of shape ", ctx.dims(kX));
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
  Param(const Tensor* t, int64_t n, T value) {
    if (!t) filled_.assign(n, value);
    data_ = t ? t->data<T>() : filled_.data();
  }
  const T* data() const { return data_; }

 private:
  std::vector<T> filled_;
  const T* data_;
};

template <class T>
void Zero(Tensor* t) {
  if (t) std::fill_n(t->mutable_data<T>(), t->numel(), T(0));
}
template <class T>
const T* DataOrNull(const Tensor* t) {
  return t ? t->data<T>() : nullptr;
}

template <class T>
std::vector<T> Inverses(const T* variance, int64_t rows, bool inverse, float epsilon) {
  std::vector<T> out(variance, variance + rows);
  if (inverse) return out;
  for (T& v : out)
    v = static_cast<T>(1 / std::sqrt(static_cast<double>(v) + static_cast<double>(epsilon)));
  return out;
}

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
            "what is normalised together must not be empty, got X of shape ", x);
  }
  ctx.SetOutput(kY, x);
  ctx.SetOutput(kMean, stats);
  ctx.SetOutput(kVariance, stats);
}

template <class Norm>
OpDef& DefineSlots(OpDef& op) {
  return op.Input(kX, "X", Norm::kXHelp)
      .Input(kScale, "Scale", Norm::kParamHelp, kDispensable)
      .Input(kBias, "Bias", Norm::kParamHelp, kDispensable)
      .Output(kY, "Y", "shape of X")
      .Output(kMean, Norm::kMean, "the means", kIntermediate)
      .Output(kVariance, Norm::kVariance,
              Norm::kInverse ? "1 / sqrt(variance + epsilon)" : "the variances, biased",
              kIntermediate)
      .Attr(&Norm::Attrs::epsilon, "epsilon", "added to the variance", Between(0, 1))
      .Shape(InferShape<Norm>)
      .Grad([](GradBuilder& g) {
        g.Call(Norm::kGrad,
               {g.Input(kX), g.Input(kScale), g.InputShape(kBias), g.Output(kMean),
                g.Output(kVariance), g.OutputGrad(kY)},
               {g.InputGrad(kX), g.InputGrad(kScale), g.InputGrad(kBias)})
            .SameAttrs();
      });
}

template <class Norm>
struct Forward {
  template <class T>
  struct Kernel {
    static void Compute(KernelContext& ctx) {
      const typename Norm::Attrs& a = ctx.attrs<typename Norm::Attrs>();
      bool last = Norm::ChannelsLast(a);
      const Tensor& given = ctx.In(kX);
      if (given.numel() == 0) return;
      kernels::RowNormShape s = Norm::Rows(given.dims(), a);
      Tensor x = channels::Second(given, last);
      Param<T> scale(ctx.InOrNull(kScale), s.params(), T(1)),
          bias(ctx.InOrNull(kBias), s.params(), T(0));
      channels::Result<T> y(&ctx.Out(kY), last);
      Tensor *mean = ctx.OutOrNull(kMean), *variance = ctx.OutOrNull(kVariance);
      T* v = variance ? variance->mutable_data<T>() : nullptr;
      kernels::RowNorm<T>(x.data<T>(), scale.data(), bias.data(), s, static_cast<double>(a.epsilon),
                          y.data(), mean ? mean->mutable_data<T>() : nullptr, v);
      if (v && Norm::kInverse) {
        std::vector<T> inverse = Inverses(v, s.rows, false, a.epsilon);
        std::copy(inverse.begin(), inverse.end(), v);
      }
      y.Finish();
    }
  };
};

namespace grad {
constexpr int kX = 0, kScale = 1, kBias = 2, kMean = 3, kVariance = 4, kYGrad = 5;
constexpr int kXGrad = 0, kScaleGrad = 1, kBiasGrad = 2;

inline void InferGradShape(InferContext& ctx) {
  ctx.SetOutput(kXGrad, ctx.dims(kX));
  if (ctx.HasInput(kScale)) ctx.SetOutput(kScaleGrad, ctx.dims(kScale));
  if (ctx.HasInput(kBias)) ctx.SetOutput(kBiasGrad, ctx.dims(kBias));
}

template <class Norm>
void Define(OpDef& op) {
  op.Comment(
        "With u = (X - mean) / deviation and h = Y@GRAD * Scale: X@GRAD = (h - mean(h) - u * "
        "mean(h * u)) / deviation, Scale@GRAD = sum(Y@GRAD * u), Bias@GRAD = sum(Y@GRAD).")
      .Input(kX, "X", "as of the forward call")
      .Input(kScale, "Scale", "as of the forward call", kDispensable)
      .Input(kBias, "Bias", "its shape", kDispensable)
      .Input(kMean, Norm::kMean, "as the forward call gave it")
      .Input(kVariance, Norm::kVariance, "as the forward call gave it")
      .Input(kYGrad, "Y@GRAD", "shape of X")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .Output(kScaleGrad, "Scale@GRAD", "shape of Scale")
      .Output(kBiasGrad, "Bias@GRAD", "shape of Bias")
      .AttrsOf(Norm::kName)
      .Shape(InferGradShape)
      .Grad([](GradBuilder& g) {
        g.Call(Norm::kGradGrad,
               {g.Input(kX), g.Input(kScale), g.Input(kMean), g.Input(kVariance), g.Input(kYGrad),
                g.OutputGrad(kXGrad), g.OutputGrad(kScaleGrad), g.OutputGrad(kBiasGrad)},
               {g.InputGrad(kX), g.InputGrad(kScale), g.InputGrad(kYGrad)})
            .SameAttrs();
      });
}

template <class Norm>
struct Backward {
  template <class T>
  struct Kernel {
    static void Compute(KernelContext& ctx) {
      const typename Norm::Attrs& a = ctx.attrs<typename Norm::Attrs>();
      bool last = Norm::ChannelsLast(a);
      const Tensor& given = ctx.In(kX);
      Tensor *dscale = ctx.OutOrNull(kScaleGrad), *dbias = ctx.OutOrNull(kBiasGrad);
      if (given.numel() == 0) {
        Zero<T>(dscale);
        Zero<T>(dbias);
        return;
      }
      kernels::RowNormShape s = Norm::Rows(given.dims(), a);
      Tensor x = channels::Second(given, last), g = channels::Second(ctx.In(kYGrad), last);
      Param<T> scale(ctx.InOrNull(kScale), s.params(), T(1));
      std::vector<T> inverse =
          Inverses(ctx.In(kVariance).data<T>(), s.rows, Norm::kInverse, a.epsilon);
      channels::Result<T> dx(ctx.OutOrNull(kXGrad), last);
      kernels::RowNormGrad<T>(x.data<T>(), g.data<T>(), scale.data(), ctx.In(kMean).data<T>(),
                              inverse.data(), s, dx.data(),
                              dscale ? dscale->mutable_data<T>() : nullptr,
                              dbias ? dbias->mutable_data<T>() : nullptr);
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
void Define(OpDef& op) {
  op.Comment(
        "The gradients of sum(X@GRAD * V) + sum(Scale@GRAD * VScale) + sum(Bias@GRAD * VBias), the "
        "results of the gradient operator, with respect to X, Scale and Y@GRAD. It has no gradient "
        "of its own.")
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
      .Shape(InferGradGradShape<Norm>);
}

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
      Param<T> scale(ctx.InOrNull(kScale), s.params(), T(1));
      std::vector<T> inverse =
          Inverses(ctx.In(kVariance).data<T>(), s.rows, Norm::kInverse, a.epsilon);
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

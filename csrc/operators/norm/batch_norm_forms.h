// What batch_norm and its fused forms share: attributes, shape rules, and kernels that may end in
// relu, after the addition of another array. Beside 16-bit floats, parameters and statistics are
// floats. Files that include this are compiled without fused
// multiply-add: a library's convolution that ends in the same steps has the same bits.
#pragma once

#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "kernels/batch_norm.h"
#include "kernels/convert.h"
#include "kernels/elementwise.h"
#include "kernels/loops.h"
#include "op/epilogue.h"
#include "op/op_registry.h"

namespace dygraph::batch_norm {

struct BatchNormAttrs {
  double momentum = 0.9;
  double epsilon = 1e-5;
  std::string data_layout = "NCHW";
  bool is_test = false;
  bool use_global_stats = false;
  bool trainable_statistics = false;
  std::string act_type = "relu";  // of the fused forms
  bool channels_last() const { return data_layout == "NHWC"; }
  bool global() const { return use_global_stats || (is_test && !trainable_statistics); }
};

// Numbers of slots; Z is -1 where there is none, the others are counted from it.
struct Slots {
  int z;
  int x = 0, scale = z + (z < 0 ? 2 : 1), bias = scale + 1, mean = scale + 2, variance = scale + 3;
};
constexpr int kY = 0, kMeanOut = 1, kVarianceOut = 2, kSavedMean = 3, kSavedVariance = 4,
              kReserve = 5;

// X as [outer, channels, inner] in memory order.
inline kernels::ChannelShape ShapeOf(const Tensor& x, const BatchNormAttrs& a) {
  Dims order = PhysicalDims(x);
  int rank = order.rank(), axis = a.channels_last() ? rank - 1 : 1;
  if (x.layout() == Layout::kNHWC) axis = axis == 1 ? rank - 1 : axis - 1;
  return {Numel(order, 0, axis), order[axis], Numel(order, axis + 1, rank)};
}

inline void CheckVector(InferContext& ctx, int slot, const char* name, int64_t channels) {
  const Dims& d = ctx.dims(slot);
  ENFORCE(d.rank() == 1 && (d[0] == channels || !BothKnown(d[0], channels)), InvalidArgument, name,
          " must have one number for each of the ", channels, " channels of X, got shape ", d);
}

inline void InferShape(InferContext& ctx, const Slots& slots) {
  const Dims& x = ctx.dims(slots.x);
  const BatchNormAttrs& a = ctx.attrs<BatchNormAttrs>();
  ENFORCE(x.rank() >= 2 && x.rank() <= 5, InvalidArgument, "X must have 2 to 5 axes, got shape ",
          x);
  if (slots.z >= 0) {
    const Dims& z = ctx.dims(slots.z);
    ENFORCE(z == x || z.HasUnknown() || x.HasUnknown(), InvalidArgument,
            "Z must have the shape of X ", x, ", got ", z);
  }
  int64_t channels = a.channels_last() ? x.back() : x[1];
  const char* names[] = {"Scale", "Bias", "Mean", "Variance"};
  for (int i = 0; i < 4; ++i) CheckVector(ctx, slots.scale + i, names[i], channels);
  if (ctx.runtime() && !a.global()) {
    int64_t count = 1;
    for (int64_t d : x) count *= d;
    ENFORCE(count > 0, InvalidArgument,
            "X must not be empty where its own statistics are taken, got shape ", x);
  }
  ctx.SetOutput(kY, x);
  for (int slot = kMeanOut; slot <= kSavedVariance; ++slot)
    ctx.SetOutput(slot, Dims{channels}, WideOf(ctx.dtype(slots.x)));
  ctx.SetOutput(kReserve, Dims{0});
}

inline OpDef& Outputs(OpDef& op) {
  return op.Output(kY, "Y", "shape of X")
      .Output(kMeanOut, "MeanOut", "[C], may be Mean")
      .Output(kVarianceOut, "VarianceOut", "[C], may be Variance")
      .Output(kSavedMean, "SavedMean", "[C], the mean used", kIntermediate)
      .Output(kSavedVariance, "SavedVariance", "[C], the inverse deviation used", kIntermediate)
      .Output(kReserve, "ReserveSpace", "empty: of other devices", kExtra);
}

inline OpDef& AllAttrs(OpDef& op) {
  return op.Attr(&BatchNormAttrs::momentum, "momentum", "share of the old running statistics")
      .Attr(&BatchNormAttrs::epsilon, "epsilon", "added to the variance", Between(0, 1))
      .Attr(&BatchNormAttrs::data_layout, "data_layout", "where the channels are",
            OneOf({"NCHW", "NHWC"}))
      .Attr(&BatchNormAttrs::is_test, "is_test", "use the running statistics")
      .Attr(&BatchNormAttrs::use_global_stats, "use_global_stats", "use them in training too")
      .Attr(&BatchNormAttrs::trainable_statistics, "trainable_statistics",
            "use the batch's although is_test");
}

inline OpDef& Activation(OpDef& op) {
  return op.Attr(&BatchNormAttrs::act_type, "act_type", "what is done last", OneOf({"relu"}));
}

// As relu itself: a NaN passes.
template <class T>
DYGRAPH_INLINE T Positive(T v) {
  return v > T(0) || v != v ? v : T(0);
}

// The running value may be written where it stands.
template <class T>
void UpdateRunning(const T* old, const double* batch, int64_t n, double momentum, Tensor* out) {
  if (!out) return;
  T* to = out->mutable_data<T>();
  kernels::ForEach(n, [=] DYGRAPH_FN(int64_t c) {
    to[c] =
        momentum == 1
            ? old[c]
            : static_cast<T>(momentum * static_cast<double>(old[c]) + (1 - momentum) * batch[c]);
  });
}

// to = the mean, the factor and the summand of channel c, in lists of n one after the other.
template <class T>
DYGRAPH_BOTH inline void FillVectors(double mean, double variance, T scale, T bias, double epsilon,
                                   int64_t c, int64_t n, T* to) {
  double inverse = 1 / std::sqrt(variance + epsilon);
  to[c] = static_cast<T>(mean);
  to[n + c] = static_cast<T>(static_cast<double>(scale) * inverse);
  // What the mean loses in T goes into the summand.
  double lost = (mean - static_cast<double>(to[c])) * static_cast<double>(to[n + c]);
  to[2 * n + c] = static_cast<T>(static_cast<double>(bias) - lost);
}

// What a call with running statistics does to the X that another call makes.
inline bool MakeEpilogue(const Call& call, const Slots& slots, bool relu, Epilogue* to) {
  const auto& a = *static_cast<const BatchNormAttrs*>(call.attrs);
  if (!a.global() || a.channels_last()) return false;
  const Value* scale = call.in.at(slots.scale);
  if (!scale || !scale->is_tensor()) return false;
  const int64_t n = scale->tensor().numel();
  const float* lists[4];
  std::array<Ref<Storage>, 4> made_of;
  bool known = to->channels() == n;
  for (int i = 0; i < 4; ++i) {
    const Value* value = call.in.at(slots.scale + i);
    if (!value || !value->is_tensor()) return false;
    const Tensor& t = value->tensor();
    if (t.dtype() != DType::kFloat32 || t.dims() != Dims{n} || !t.has_data()) return false;
    lists[i] = t.data<float>();
    made_of[i] = t.storage();
    known = known && to->made_of[i] == made_of[i] && !made_of[i]->foreign();
  }
  to->added = nullptr;
  if (slots.z >= 0) {
    const Value* z = call.in.at(slots.z);
    if (!z || !z->is_tensor() || z->dtype() != DType::kFloat32) return false;
    to->added = &z->tensor();
  }
  to->relu = relu;
  if (known) return true;
  to->made_of = std::move(made_of);
  to->vectors.resize(3 * n);
  const double epsilon = NumberFor<float>(a.epsilon);
  for (int64_t c = 0; c < n; ++c) {
    FillVectors<float>(lists[2][c], lists[3][c], lists[0][c], lists[1][c], epsilon, c, n,
                       to->vectors.data());
  }
  return true;
}

// Y = relu(normalised X + Z), without relu unless asked, without Z unless there is one.
template <class T>
void Normalize(KernelContext& ctx, const Slots& slots, bool relu, double momentum) {
  using W = kernels::Wide<T>;
  const Tensor& x = ctx.In(slots.x);
  const BatchNormAttrs& a = ctx.attrs<BatchNormAttrs>();
  kernels::ChannelShape s = ShapeOf(x, a);
  const W* mean = ctx.In(slots.mean).template data<W>();
  const W* variance = ctx.In(slots.variance).template data<W>();
  int64_t n = s.channels;
  Scratch room = ctx.Workspace(2 * n * sizeof(double) + 4 * n * sizeof(W));
  double *m = room.as<double>(), *v = m + n;
  W* vectors = reinterpret_cast<W*>(v + n);
  const T* xd = x.data<T>();
  if (a.global()) {
    kernels::ForEach(n, [=] DYGRAPH_FN(int64_t c) {
      m[c] = static_cast<double>(mean[c]);
      v[c] = static_cast<double>(variance[c]);
    });
    momentum = 1;
  } else {
    kernels::ChannelMoments(xd, s, m, v);
  }
  UpdateRunning(mean, m, n, momentum, ctx.OutOrNull(kMeanOut));
  UpdateRunning(variance, v, n, momentum, ctx.OutOrNull(kVarianceOut));
  const W* scale = ctx.In(slots.scale).template data<W>();
  const W* bias = ctx.In(slots.bias).template data<W>();
  Tensor *saved_mean = ctx.OutOrNull(kSavedMean), *saved_variance = ctx.OutOrNull(kSavedVariance);
  W* to_mean = saved_mean ? saved_mean->mutable_data<W>() : nullptr;
  W* to_inverse = saved_variance ? saved_variance->mutable_data<W>() : nullptr;
  const double epsilon = NumberFor<W>(a.epsilon);
  kernels::ForEach(n, [=] DYGRAPH_FN(int64_t c) {
    FillVectors(m[c], v[c], scale[c], bias[c], epsilon, c, n, vectors);
    if (to_mean) to_mean[c] = static_cast<W>(m[c]);
    if (to_inverse) to_inverse[c] = static_cast<W>(1 / std::sqrt(v[c] + epsilon));
  });
  T* y = ctx.Out(kY).template mutable_data<T>();
  if (slots.z >= 0) {
    const T* z = ctx.In(slots.z).template data<T>();
    kernels::ChannelMap(s, vectors, y, [xd, z] DYGRAPH_FN(int64_t i, W mc, W f, W b, W) {
      return Positive((xd[i] - mc) * f + b + z[i]);
    });
  } else if (relu) {
    kernels::ChannelMap(s, vectors, y, [xd] DYGRAPH_FN(int64_t i, W mc, W f, W b, W) {
      return Positive((xd[i] - mc) * f + b);
    });
  } else {
    kernels::ChannelMap(s, vectors, y, [xd] DYGRAPH_FN(int64_t i, W mc, W f, W b, W) {
      return (xd[i] - mc) * f + b;
    });
  }
}

template <class T>
T* DataOrNull(Tensor* t) {
  return t ? t->mutable_data<T>() : nullptr;
}

// What the gradients read and make; an output may be null.
template <class T>
struct Gradients {
  using W = kernels::Wide<T>;
  kernels::ChannelShape shape;
  const T* x;
  const W *scale, *mean, *inverse;
  T* dx;
  W *dscale, *dbias;
  bool global;  // the running statistics were used
};

// With g(i), the gradient of the normalised X at i.
template <class T, class G>
void NormalizeGrad(Place place, const Gradients<T> a, const G g) {
  using W = kernels::Wide<T>;
  const int64_t n = a.shape.channels;
  const T* xd = a.x;
  Scratch room(place, 2 * n * sizeof(double) + 4 * n * sizeof(W));
  double *sum_g = room.as<double>(), *sum_gx = sum_g + n;
  W* vectors = reinterpret_cast<W*>(sum_gx + n);  // mean, and the factors of g, x - mean and 1
  if (a.dscale || a.dbias || !a.global) {
    kernels::ChannelGradSums(xd, g, a.mean, a.shape, sum_g, sum_gx);
  }
  const double count = static_cast<double>(a.shape.count());
  kernels::ForEach(n, [=] DYGRAPH_FN(int64_t c) {
    if (a.dscale) a.dscale[c] = static_cast<W>(sum_gx[c] * static_cast<double>(a.inverse[c]));
    if (a.dbias) a.dbias[c] = static_cast<W>(sum_g[c]);
    if (!a.dx) return;
    const double inv = static_cast<double>(a.inverse[c]), f = static_cast<double>(a.scale[c]) * inv;
    vectors[c] = a.mean[c];
    vectors[n + c] = static_cast<W>(f);
    if (a.global) return;
    vectors[2 * n + c] = static_cast<W>(-f * inv * inv * sum_gx[c] / count);
    vectors[3 * n + c] = static_cast<W>(-f * sum_g[c] / count);
  });
  if (!a.dx) return;
  if (a.global) {
    kernels::ChannelMap(a.shape, vectors, a.dx,
                        [g] DYGRAPH_FN(int64_t i, W, W f, W, W) { return g(i) * f; });
  } else {
    kernels::ChannelMap(a.shape, vectors, a.dx, [g, xd] DYGRAPH_FN(int64_t i, W mc, W f, W q, W r) {
      return g(i) * f + ((xd[i] - mc) * q + r);
    });
  }
}

// What arrives at the normalised X: an array, or that array where relu was passed.
template <class T>
struct Arriving {
  const T* g;
  DYGRAPH_INLINE kernels::Wide<T> operator()(int64_t i) const { return g[i]; }
};
template <class T>
struct ArrivingThroughRelu {
  const T *y, *g;
  DYGRAPH_INLINE kernels::Wide<T> operator()(int64_t i) const {
    kernels::Wide<T> v = g[i];
    return y[i] > kernels::Wide<T>(0) ? v : 0;
  }
};

// The gradients of the fused forms read Y too: relu was passed where it is positive.
namespace fused_grad {

constexpr int kY = 0, kX = 1, kScale = 2, kSavedMean = 3, kSavedVariance = 4, kYGrad = 5;
constexpr int kXGrad = 0, kScaleGrad = 1, kBiasGrad = 2, kZGrad = 3;

inline void Define(OpDef& op, const char* forward, bool with_z) {
  op.Input(kY, "Y", "result of the forward call")
      .Input(kX, "X", "as of the forward call")
      .Input(kScale, "Scale", "[C]", kWide)
      .Input(kSavedMean, "SavedMean", "[C]", kWide)
      .Input(kSavedVariance, "SavedVariance", "[C], the inverse deviation", kWide)
      .Input(kYGrad, "Y@GRAD", "shape of Y")
      .Output(kXGrad, "X@GRAD", "shape of X")
      .Output(kScaleGrad, "Scale@GRAD", "[C]")
      .Output(kBiasGrad, "Bias@GRAD", "[C]");
  if (with_z) op.Output(kZGrad, "Z@GRAD", "shape of X");
  op.AttrsOf(forward).KeepsLayout();
}

template <bool kWithZ>
void InferShape(InferContext& ctx) {
  ctx.SetOutput(kXGrad, ctx.dims(kX));
  ctx.SetOutput(kScaleGrad, ctx.dims(kScale), ctx.dtype(kScale));
  ctx.SetOutput(kBiasGrad, ctx.dims(kScale), ctx.dtype(kScale));
  if (kWithZ) ctx.SetOutput(kZGrad, ctx.dims(kX));
}

// relu is flat but for its steps, so its part is linear: the rest is that of batch_norm_grad.
template <bool kWithZ>
void Recipe(GradBuilder& g) {
  RecipeRef inner = g.Apply("relu_grad", {g.Input(kY), g.Input(kYGrad)});
  RecipeRef outer = g.Temp();
  g.Call("batch_norm_grad_grad",
         {g.Input(kX), g.Input(kScale), g.Input(kSavedMean), g.Input(kSavedVariance), inner,
          g.OutputGrad(kXGrad), g.OutputGrad(kScaleGrad), g.OutputGrad(kBiasGrad)},
         {g.InputGrad(kX), g.InputGrad(kScale), outer})
      .SameAttrs();
  if (kWithZ) {
    RecipeRef both = g.Temp();
    g.Call("sum", {RecipeSlot({outer, g.OutputGrad(kZGrad)})}, {both});
    outer = both;
  }
  g.Call("relu_grad", {g.Input(kY), outer}, {g.InputGrad(kYGrad)});
}

template <class T, bool kWithZ>
void Compute(KernelContext& ctx) {
  using W = kernels::Wide<T>;
  const Tensor& x = ctx.In(kX);
  const BatchNormAttrs& attrs = ctx.attrs<BatchNormAttrs>();
  const T *y = ctx.In(kY).template data<T>(), *dy = ctx.In(kYGrad).template data<T>();
  const Gradients<T> a = {ShapeOf(x, attrs),
                          x.data<T>(),
                          ctx.In(kScale).template data<W>(),
                          ctx.In(kSavedMean).template data<W>(),
                          ctx.In(kSavedVariance).template data<W>(),
                          DataOrNull<T>(ctx.OutOrNull(kXGrad)),
                          DataOrNull<W>(ctx.OutOrNull(kScaleGrad)),
                          DataOrNull<W>(ctx.OutOrNull(kBiasGrad)),
                          attrs.global()};
  T* dz = kWithZ ? DataOrNull<T>(ctx.OutOrNull(kZGrad)) : nullptr;
  if (dz) {
    kernels::Zip(y, dy, dz, x.numel(), [] DYGRAPH_FN(W v, W g) { return v > W(0) ? g : W(0); });
    NormalizeGrad(ctx.place(), a, Arriving<T>{dz});
  } else {
    NormalizeGrad(ctx.place(), a, ArrivingThroughRelu<T>{y, dy});
  }
}

}  // namespace fused_grad

}  // namespace dygraph::batch_norm

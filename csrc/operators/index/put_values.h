// put_along_axis and its gradient.
#pragma once

#include "operators/index/put_along_host.h"

namespace dygraph::indexing {

template <class T>
void AddValues(const Places& places, const Tensor& x, const T* v, bool self, T* to) {
  kernels::AlongShape shape = AlongShapeOf(x.dims(), places.target.shape, places.target.axis);
  const T* from = x.data<T>();
  VisitIndices(places.index, "Index", [&](auto* numbers) {
    if (!self) {
      kernels::PutAlong(shape, from, numbers, nullptr, to, sizeof(T));
      from = to;
    }
    kernels::AddAlong(shape, from, numbers, v, to);
  });
}

// Result of a call.
template <class T>
void PutValues(KernelContext& ctx) {
  const PutAlongAxisAttrs& a = ctx.attrs<PutAlongAxisAttrs>();
  const Tensor &x = ctx.In(kInput), &given = ctx.In(kIndex);
  const Places places(a, x.dims(), given, ctx.In(kValue).dims());
  const Target& target = places.target;
  const Tensor value = RepeatedValue(ctx.In(kValue), target.shape);
  Tensor& out = ctx.Out(0);
  T* to = out.mutable_data<T>();
  const T *from = x.data<T>(), *v = value.data<T>();
  const Reduce reduce = ReduceOf(a);
  const bool plain = !IsPart(target.shape, x.dims(), target.axis);
  if constexpr (sizeof(T) >= 4) {
    if (plain && reduce == Reduce::kAdd) return AddValues(places, x, v, a.include_self, to);
  }
  if (plain && reduce == Reduce::kAssign) {
    kernels::AlongShape shape = AlongShapeOf(x.dims(), target.shape, target.axis);
    return VisitIndices(places.index, "Index", [&](auto* numbers) {
      kernels::PutAlong(shape, from, numbers, v, to, sizeof(T));
    });
  }
  std::vector<int64_t> at = places.At(x.dims());
  CopyAll(ctx, x, &out);
  Put(reduce, a.include_self, at.data(), at.size(), v, to);
  if (reduce != Reduce::kMean) return;
  std::vector<int64_t> counts = Counts(at, x.numel(), a.include_self);
  for (int64_t i = 0; i < x.numel(); ++i) {
    if (counts[i] > 1) to[i] = static_cast<T>(to[i] / static_cast<T>(counts[i]));
  }
}

// The gradients of a call.
template <class T>
void PutGradients(KernelContext& ctx) {
  const PutAlongAxisAttrs& a = ctx.attrs<PutAlongAxisAttrs>();
  const Tensor &input = ctx.In(kInput), &g = ctx.In(kResultGrad);
  const Dims& x = input.dims();
  ENFORCE(g.dims() == x, InvalidArgument, "Result@GRAD must have the shape of Input, ", x, ", got ",
          g.dims());
  const Places places(a, x, ctx.In(kIndex), ctx.In(kValue).dims());
  const Dims& shape = places.target.shape;
  const std::vector<int64_t> at = places.At(x);
  Tensor *dx = ctx.OutOrNull(kInputGrad), *dv = ctx.OutOrNull(kValueGrad);
  const Reduce reduce = ReduceOf(a);
  const bool product = reduce == Reduce::kMultiply, read = product || IsExtreme(reduce);
  Tensor value;
  if (read) value = RepeatedValue(ctx.In(kValue), shape);
  const T *v = read ? value.data<T>() : nullptr, *f = read ? input.data<T>() : nullptr;
  const T* gd = g.data<T>();
  std::vector<T> full(dv ? at.size() : 0);
  if (product) {
    if (dx) {
      CopyAll(ctx, g, dx);
      T* to = dx->mutable_data<T>();
      for (size_t i = 0; i < at.size(); ++i) to[at[i]] = a.include_self ? to[at[i]] * v[i] : T(0);
    }
    std::vector<T> running(dv ? x.empty() ? 0 : g.numel() : 0);
    if (dv) TimesOthers(at, a.include_self ? f : nullptr, v, gd, running.data(), full.data());
  } else {
    const Weights<T> weights(a, at, g.numel(), f, v);
    if (dx) {
      T* to = dx->mutable_data<T>();
      for (int64_t i = 0; i < g.numel(); ++i)
        to[i] = weights.x[i] == T(0) ? T(0) : gd[i] * weights.x[i];
    }
    for (size_t i = 0; i < full.size(); ++i)
      full[i] = weights.v[i] == T(0) ? T(0) : gd[at[i]] * weights.v[i];
  }
  if (dv) SumToValue(shape, full, dv);
}

}  // namespace dygraph::indexing

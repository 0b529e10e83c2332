// operators/index/put_values.h on the device: the values of each element are brought together, and
// one thread takes them in their order.
#pragma once

#include "cuda/sort_cuda.h"
#include "kernels/broadcast.h"
#include "kernels/integer.h"
#include "operators/index/along_axis.h"
#include "operators/index/put_along.h"

namespace dygraph::indexing {

// Values by the element of x that they are put to; those of one element in their order.
class PutRuns {
 public:
  PutRuns(KernelContext& ctx, const Dims& x, const Target& target)
      : count_(Numel(target.shape)), memory_(3 * count_) {
    if (count_ == 0) return;
    int64_t *places = memory_.data(), *sorted = places + count_, *order = sorted + count_;
    WithPlaces(ctx, kIndex, x, target.shape, target.axis, [&](const auto& along) {
      using I = std::remove_const_t<std::remove_pointer_t<decltype(along.index)>>;
      kernels::ForEach(count_, NotePlaces<I>{along, places});
    });
    cuda::SortKeys(places, count_, Numel(x) - 1, sorted, order);
  }

  // f(element, values, n) for each element that gets values: their n numbers.
  template <class F>
  void ForEach(F f) {
    const int64_t *sorted = memory_.data() + count_, *order = sorted + count_, all = count_;
    kernels::ForEach(count_, [=] DYGRAPH_FN(int64_t p) {
      const int64_t element = sorted[p];
      if (p > 0 && sorted[p - 1] == element) return;
      int64_t n = 1;
      while (p + n < all && sorted[p + n] == element) ++n;
      f(element, order + p, n);
    });
  }

 private:
  int64_t count_;
  cuda::Workspace<int64_t> memory_;
};

// What element `now` of Input becomes with its values.
template <class T>
DYGRAPH_INLINE T PutAll(Reduce reduce, bool self, T now, const T* v, const int64_t* values,
                        int64_t n) {
  if (!self && reduce != Reduce::kAssign) {
    const bool extreme = reduce == Reduce::kLeast || reduce == Reduce::kMost;
    now = reduce == Reduce::kMultiply ? T(1) : extreme ? v[values[0]] : T(0);
  }
  for (int64_t k = 0; k < n; ++k) {
    const T next = v[values[k]];
    switch (reduce) {
      case Reduce::kAssign: now = next; break;
      case Reduce::kMultiply: now = kernels::Times(now, next); break;
      case Reduce::kLeast:
      case Reduce::kMost: now = Beats(reduce, next, now) && now == now ? next : now; break;
      default: now = kernels::Plus(now, next);
    }
  }
  const int64_t mean_of = n + self;
  return reduce == Reduce::kMean && mean_of > 1 ? static_cast<T>(now / static_cast<T>(mean_of))
                                                : now;
}

// Result of a call.
template <class T>
void PutValues(KernelContext& ctx) {
  const PutAlongAxisAttrs& a = ctx.attrs<PutAlongAxisAttrs>();
  const Tensor& x = ctx.In(kInput);
  const Target target = CheckShapes(a, x.dims(), ctx.In(kIndex).dims(), ctx.In(kValue).dims());
  const Tensor value = RepeatedValue(ctx.In(kValue), target.shape);
  Tensor& out = ctx.Out(0);
  CopyAll(ctx, x, &out);
  const Reduce reduce = ReduceOf(a);
  const bool self = a.include_self;
  const T* v = value.data<T>();
  T* to = out.mutable_data<T>();
  PutRuns runs(ctx, x.dims(), target);
  runs.ForEach([=] DYGRAPH_FN(int64_t i, const int64_t* values, int64_t n) {
    to[i] = PutAll(reduce, self, to[i], v, values, n);
  });
}

// The gradients of one element's factors: g times all the others. `x` is the first one, or null.
template <class T>
struct ProductGradients {
  const T *x, *v, *g;
  T *dx, *dv;  // either may be null
  DYGRAPH_INLINE void operator()(int64_t i, const int64_t* values, int64_t n) const {
    T running = x ? x[i] : T(1), product = g[i];
    for (int64_t k = 0; k < n; ++k) {
      if (dv) dv[values[k]] = running * g[i];
      running *= v[values[k]];
      product *= v[values[k]];
    }
    if (dx) dx[i] = x ? product : T(0);
    running = T(1);
    for (int64_t k = n - 1; k >= 0 && dv; --k) {
      dv[values[k]] *= running;
      running *= v[values[k]];
    }
  }
};

// The same of what is no product: weights that stand for 1 or 0, one over the count, one over the
// number of those that are equal.
template <class T>
struct WeightedGradients {
  Reduce reduce;
  bool self;  // Input has a part
  const T *x, *v, *g;
  T *dx, *dv;  // either may be null

  static DYGRAPH_INLINE bool Same(T a, T b) { return a == b || (a != a && b != b); }
  static DYGRAPH_INLINE T Times(T g, T weight) { return weight == T(0) ? T(0) : g * weight; }
  DYGRAPH_INLINE void operator()(int64_t i, const int64_t* values, int64_t n) const {
    const bool extreme = reduce == Reduce::kLeast || reduce == Reduce::kMost;
    T best = T(0), share = T(1);
    if (extreme) {
      best = PutAll(reduce, self, x[i], v, values, n);
      T equal = T(self && Same(x[i], best));
      for (int64_t k = 0; k < n; ++k) equal += T(Same(v[values[k]], best));
      share = T(1) / equal;
    } else if (reduce == Reduce::kMean) {
      share = T(1) / T(n + self);
    }
    const bool counts = self && (!extreme || Same(x[i], best));
    if (dx) dx[i] = Times(g[i], counts ? share : T(0));
    for (int64_t k = 0; k < n && dv; ++k) {
      const int64_t at = values[k];
      const bool lost = reduce == Reduce::kAssign && k + 1 < n;
      dv[at] = Times(g[i], lost || (extreme && !Same(v[at], best)) ? T(0) : share);
    }
  }
};

// The gradients of a call.
template <class T>
void PutGradients(KernelContext& ctx) {
  const PutAlongAxisAttrs& a = ctx.attrs<PutAlongAxisAttrs>();
  const Tensor &input = ctx.In(kInput), &g = ctx.In(kResultGrad);
  const Dims& x = input.dims();
  ENFORCE(g.dims() == x, InvalidArgument, "Result@GRAD must have the shape of Input, ", x, ", got ",
          g.dims());
  const Target target = CheckShapes(a, x, ctx.In(kIndex).dims(), ctx.In(kValue).dims());
  const Dims& shape = target.shape;
  Tensor *dx = ctx.OutOrNull(kInputGrad), *dv = ctx.OutOrNull(kValueGrad);
  const Reduce reduce = ReduceOf(a);
  const bool product = reduce == Reduce::kMultiply, read = product || IsExtreme(reduce);
  Tensor value, full;
  if (read) value = RepeatedValue(ctx.In(kValue), shape);
  const T *v = read ? value.data<T>() : nullptr, *f = read ? input.data<T>() : nullptr;
  if (dx) CopyAll(ctx, g, dx);
  const bool sums = dv && dv->dims() != shape;
  if (sums) full = Tensor(shape, g.dtype(), g.place());
  T* to_x = dx ? dx->mutable_data<T>() : nullptr;
  T* to_v = dv ? (sums ? &full : dv)->mutable_data<T>() : nullptr;
  PutRuns runs(ctx, x, target);
  if (product) {
    runs.ForEach(ProductGradients<T>{a.include_self ? f : nullptr, v, g.data<T>(), to_x, to_v});
  } else {
    const bool self = a.include_self && reduce != Reduce::kAssign;
    runs.ForEach(WeightedGradients<T>{reduce, self, f, v, g.data<T>(), to_x, to_v});
  }
  if (!sums) return;
  if (full.numel() == 0) return Clear(dv);
  kernels::SumTo(shape, full.data<T>(), Strides(shape), dv->mutable_data<T>(),
                 RepeatedStrides(dv->dims(), shape));
}

}  // namespace dygraph::indexing

// operators/index/along_axis.h on the device.
#pragma once

#include "kernels/pack.h"
#include "kernels/walk.h"
#include "operators/index/along_shape.h"

namespace dygraph::indexing {

// Where in x lie the elements that an index addresses, by their position in the addressed shape.
template <class I>
struct AlongPlaces {
  kernels::detail::Steps<2> walk;  // of x without the axis, of the index
  const I* index;
  int64_t stride;  // of the axis
  IndexGuard guard;
  DYGRAPH_INLINE int64_t operator()(int64_t i) const {
    const auto at = walk.At(i);
    return at.of[0] + guard(index[at.of[1]]) * stride;
  }
};

template <class U, class I>
struct TakePlaces {
  AlongPlaces<I> places;
  const U* x;
  U* out;
  DYGRAPH_INLINE void operator()(int64_t i) const { out[i] = x[places(i)]; }
};
template <class I>
struct NotePlaces {
  AlongPlaces<I> places;
  int64_t* to;
  DYGRAPH_INLINE void operator()(int64_t i) const { to[i] = places(i); }
};

// f(AlongPlaces) for the input `index_slot` into an x of shape `x`, `shape` being addressed.
template <class F>
void WithPlaces(KernelContext& ctx, int index_slot, const Dims& x, const Dims& shape, int axis,
                F f) {
  const Tensor& index = ctx.In(index_slot);
  const Dims x_strides = Strides(x), own = Strides(index.dims());
  kernels::Walk<2> walk;
  for (int a = 0; a < shape.rank(); ++a) {
    const bool repeats = index.dim(a) == 1 && shape[a] != 1;
    walk.Push(shape[a], {a == axis ? 0 : x_strides[a], repeats ? 0 : own[a]});
  }
  const IndexGuard guard(ctx, index_slot, x[axis], true);
  VisitIndices(index, "Index", [&](auto* numbers) {
    using I = std::remove_const_t<std::remove_pointer_t<decltype(numbers)>>;
    f(AlongPlaces<I>{kernels::detail::Steps<2>(walk), numbers, x_strides[axis], guard});
  });
}

template <class U, class I>
void TakeUnits(const AlongPlaces<I>& places, const void* x, void* out, int64_t n) {
  kernels::ForEach(n, TakePlaces<U, I>{places, static_cast<const U*>(x), static_cast<U*>(out)});
}

// out = the elements of input `x_slot` that input `index_slot` addresses.
inline void TakeAlong(KernelContext& ctx, int x_slot, int index_slot, int axis, Tensor* out) {
  const Tensor& x = ctx.In(x_slot);
  const int64_t n = out->numel();
  if (n == 0) return;
  WithPlaces(ctx, index_slot, x.dims(), out->dims(), axis, [&](const auto& places) {
    const void* from = x.raw_data();
    void* to = out->mutable_raw_data();
    switch (SizeOf(x.dtype())) {
      case 1: return TakeUnits<uint8_t>(places, from, to, n);
      case 2: return TakeUnits<uint16_t>(places, from, to, n);
      case 4: return TakeUnits<uint32_t>(places, from, to, n);
      default: return TakeUnits<uint64_t>(places, from, to, n);
    }
  });
}

// out = 0, and then input `grad_slot` is added where input `index_slot` took it from, which is the
// forward call's `x_slot`.
template <class T>
void AddAlong(KernelContext& ctx, int x_slot, int index_slot, int grad_slot, int axis,
              Tensor* out) {
  const Tensor &index = ctx.In(index_slot), &g = ctx.In(grad_slot);
  const Dims shape = AddedDims(g.dims(), out->dims(), index.dims(), axis,
                               ctx.call().op->inputs[x_slot].name.c_str());
  Clear(out);
  if (g.numel() == 0) return;
  cuda::Workspace<int64_t> memory(g.numel());
  int64_t* at = memory.data();
  WithPlaces(ctx, index_slot, out->dims(), shape, axis, [&](const auto& places) {
    using I = std::remove_const_t<std::remove_pointer_t<decltype(places.index)>>;
    kernels::ForEach(g.numel(), NotePlaces<I>{places, at});
  });
  kernels::AddRows({1, out->numel(), 1}, out->mutable_data<T>(), at, g.numel(), g.data<T>());
}

}  // namespace dygraph::indexing

// kernels/broadcast.h on the device.
#pragma once

#include <cstdint>

#include "cuda/launch.h"
#include "kernels/broadcast_plan.h"
#include "kernels/elementwise.h"
#include "kernels/reduce.h"
#include "kernels/strided_copy.h"
#include "kernels/strides.h"
#include "kernels/walk.h"

namespace dygraph::kernels {

namespace detail {

// N elements side by side: the next ones, or one element N times.
template <int N, class T>
DYGRAPH_INLINE Pack<T, N> Operand(const T* at, bool repeated) {
  if constexpr (N > 1) {
    if (repeated) {
      Pack<T, N> p;
      const T v = *at;
      DYGRAPH_UNROLL
      for (int k = 0; k < N; ++k) p.v[k] = v;
      return p;
    }
  }
  return *PacksOf<N>(at);
}

// The innermost dimension of the walk counts packs of N elements, which are side by side in x and
// y or the same element; N = 1 takes any strides.
template <int N, class A, class B, class Out, class F>
__global__ void __launch_bounds__(cuda::kThreads)
    BroadcastKernel(const A* x, const B* y, Out* out, int64_t packs,
                    const __grid_constant__ Steps<2> walk, bool x_repeated, bool y_repeated, F f) {
  constexpr int kAtOnce = N == 1 ? 4 : 2;
  const int64_t step = int64_t{cuda::kThreads} * gridDim.x;
  for (int64_t i = blockIdx.x * int64_t{cuda::kThreads} + threadIdx.x; i < packs;
       i += kAtOnce * step) {
    Pack<Out, N> r[kAtOnce];
    DYGRAPH_UNROLL
    for (int k = 0; k < kAtOnce; ++k) {
      if (i + k * step >= packs) break;
      const auto at = walk.At(i + k * step);
      r[k] = OfPacks<Out, N>(f, Operand<N>(x + at.of[0], x_repeated),
                             Operand<N>(y + at.of[1], y_repeated));
    }
    DYGRAPH_UNROLL
    for (int k = 0; k < kAtOnce; ++k) {
      if (i + k * step < packs) PacksOf<N>(out)[i + k * step] = r[k];
    }
  }
}

// Whether the array may be read in packs of N: a run of them, or one element for the whole row.
template <int N, int kArrays, class T>
bool FitsPacks(const Walk<kArrays>& walk, int array, const T* p) {
  const int last = walk.rank - 1;
  const int64_t* strides = walk.strides[array];
  if (strides[last] == 0) return true;
  bool fits = strides[last] == 1 && IsAligned<N>(p);
  for (int i = 0; i < last; ++i) fits &= strides[i] % N == 0;
  return fits;
}

template <class A, class B, class Out, class F>
void BroadcastWalk(Walk<2> walk, const A* x, const B* y, Out* out, F f) {
  constexpr int N = kPackSize<A, B, Out>;
  const int last = walk.rank - 1;
  const int64_t n = walk.Count(0, walk.rank);
  if constexpr (N > 1) {
    if (walk.rank > 0 && walk.dims[last] % N == 0 && IsAligned<N>(out) &&
        FitsPacks<N>(walk, 0, x) && FitsPacks<N>(walk, 1, y)) {
      const bool x_repeated = walk.strides[0][last] == 0, y_repeated = walk.strides[1][last] == 0;
      walk.dims[last] /= N;
      for (int64_t (&strides)[kMaxRank] : walk.strides) strides[last] *= N;
      return cuda::Run(BroadcastKernel<N, A, B, Out, F>, cuda::Blocks(n / N), x, y, out, n / N,
                       Steps<2>(walk), x_repeated, y_repeated, f);
    }
  }
  cuda::Run(BroadcastKernel<1, A, B, Out, F>, cuda::Blocks(n), x, y, out, n, Steps<2>(walk), false,
            false, f);
}

}  // namespace detail

// out[i] = f(x[i * sx], y[i * sy]).
template <class A, class B, class Out, class F>
void Binary(const A* x, int64_t sx, const B* y, int64_t sy, Out* out, int64_t n, F f, int64_t = 1) {
  if (n <= 0) return;
  if (sx == 1 && sy == 1) return Zip(x, y, out, n, f);
  Walk<2> walk;
  walk.Push(n, {sx, sy});
  detail::BroadcastWalk(walk, x, y, out, f);
}

// out[i] = f(x[...], y[...]) over the dense shape `dims`. `out` may be exactly x or y where that
// one is not broadcast.
template <class A, class B, class Out, class F>
void Broadcast(Span<const int64_t> dims, const A* x, Span<const int64_t> x_strides, const B* y,
               Span<const int64_t> y_strides, Out* out, F f, int64_t = 1) {
  Walk<2> walk;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0) return;
    walk.Push(dims[i], {x_strides[i], y_strides[i]});
  }
  if (walk.rank <= 1) {
    const bool one = walk.rank == 0;
    return Binary(x, one ? 1 : walk.strides[0][0], y, one ? 1 : walk.strides[1][0], out,
                  one ? 1 : walk.dims[0], f);
  }
  detail::BroadcastWalk(walk, x, y, out, f);
}

// `x` with strides over the shape `dims`, laid out densely.
template <class T>
void Repeat(Span<const int64_t> dims, const T* x, Span<const int64_t> strides, T* out) {
  int64_t dense[kMaxRank], stride = 1;
  for (int64_t i = static_cast<int64_t>(dims.size()) - 1; i >= 0; --i) {
    dense[i] = stride;
    stride *= dims[i];
  }
  CopyStrided(dims, x, strides, out, {dense, dims.size()}, sizeof(T));
}

// The gradient of broadcasting: sums g, of shape `dims` with strides `g_strides`, over the
// dimensions where `out_strides` is 0. `out` must be dense over the others.
template <class T>
void SumTo(Span<const int64_t> dims, const T* g, Span<const int64_t> g_strides, T* out,
           Span<const int64_t> out_strides) {
  if constexpr (kIsComplex<T>) {  // pairs of real numbers, along one more axis
    using Real = typename T::value_type;
    Walk<2> kept, runs;
    for (size_t i = 0; i < dims.size(); ++i) {
      (out_strides[i] == 0 ? runs : kept).Push(dims[i], {2 * g_strides[i], 2 * out_strides[i]});
    }
    kept.Push(2, {1, 1});
    detail::ReduceWalks<SumOp<Real>>(kept, runs, reinterpret_cast<const Real*>(g),
                                     reinterpret_cast<Real*>(out));
  } else {
    Walk<2> kept, runs;
    for (size_t i = 0; i < dims.size(); ++i) {
      (out_strides[i] == 0 ? runs : kept).Push(dims[i], {g_strides[i], out_strides[i]});
    }
    detail::ReduceWalks<SumOp<T>>(kept, runs, g, out);
  }
}

}  // namespace dygraph::kernels

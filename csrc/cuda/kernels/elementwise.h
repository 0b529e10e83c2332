// kernels/elementwise.h on the device: packs of 16 bytes where the arrays are aligned.
#pragma once

#include <cstdint>

#include "cuda/launch.h"
#include "kernels/pack.h"
#include "kernels/parallel.h"

namespace dygraph::kernels {

namespace detail {

// out[i] = f(x[i]...), N elements a step and two steps at once. The elements after the last whole
// pack go to the first threads.
template <int N, class Out, class F, class... In>
__global__ void __launch_bounds__(cuda::kThreads)
    MapKernel(Out* out, int64_t n, F f, const In*... x) {
  const int64_t step = int64_t{cuda::kThreads} * gridDim.x, packs = n / N;
  const int64_t thread = blockIdx.x * int64_t{cuda::kThreads} + threadIdx.x;
  int64_t i = thread;
  for (; i + step < packs; i += 2 * step) {
    const Pack<Out, N> a = OfPacks<Out, N>(f, PacksOf<N>(x)[i]...);
    const Pack<Out, N> b = OfPacks<Out, N>(f, PacksOf<N>(x)[i + step]...);
    PacksOf<N>(out)[i] = a;
    PacksOf<N>(out)[i + step] = b;
  }
  if (i < packs) PacksOf<N>(out)[i] = OfPacks<Out, N>(f, PacksOf<N>(x)[i]...);
  if constexpr (N > 1) {
    i = packs * N + thread;
    if (i < n) out[i] = f(static_cast<Wide<In>>(x[i])...);
  }
}

template <class Out, class F, class... In>
void MapArrays(Out* out, int64_t n, F f, const In*... x) {
  if (n <= 0) return;
  constexpr int N = kPackSize<Out, In...>;
  if (N > 1 && IsAligned<N>(out) && (IsAligned<N>(x) && ...)) {
    return cuda::Run(MapKernel<N, Out, F, In...>, cuda::Blocks(n, N * cuda::kThreads), out, n, f,
                     x...);
  }
  cuda::Run(MapKernel<1, Out, F, In...>, cuda::Blocks(n), out, n, f, x...);
}

}  // namespace detail

// y[i] = f(x[i]).
template <class Out, class In, class F>
void Map(const In* x, Out* y, int64_t n, F f, int64_t = 1) {
  detail::MapArrays(y, n, f, x);
}

// out[i] = f(x[i], y[i]).
template <class A, class B, class Out, class F>
void Zip(const A* x, const B* y, Out* out, int64_t n, F f, int64_t = 1) {
  detail::MapArrays(out, n, f, x, y);
}

// out[i] = f(x[i], s) and out[i] = f(s, x[i]).
template <class A, class S, class Out, class F>
void ZipScalar(const A* x, S s, Out* out, int64_t n, F f, int64_t = 1) {
  detail::MapArrays(out, n, [=] DYGRAPH_FN(A v) { return f(v, s); }, x);
}
template <class S, class A, class Out, class F>
void ScalarZip(S s, const A* x, Out* out, int64_t n, F f, int64_t = 1) {
  detail::MapArrays(out, n, [=] DYGRAPH_FN(A v) { return f(s, v); }, x);
}

// out[i] = f(x[i], y[i], z[i]).
template <class A, class B, class C, class Out, class F>
void Zip3(const A* x, const B* y, const C* z, Out* out, int64_t n, F f, int64_t = 1) {
  detail::MapArrays(out, n, f, x, y, z);
}

// What differs from Map and Zip on the host alone.
template <class Out, class In, class F>
void MapPlain(const In* x, Out* y, int64_t n, F f, int64_t = 1) {
  detail::MapArrays(y, n, f, x);
}
template <class A, class B, class Out, class F>
void ZipPlain(const A* x, const B* y, Out* out, int64_t n, F f, int64_t = 1) {
  detail::MapArrays(out, n, f, x, y);
}

template <class T>
void Fill(T* y, int64_t n, T value) {
  detail::MapArrays(y, n, [=] DYGRAPH_FN() { return value; });
}

// y[i] = f(), one value for all.
template <class T, class F>
void FillWith(T* y, int64_t n, F f) {
  detail::MapArrays(y, n, f);
}

}  // namespace dygraph::kernels

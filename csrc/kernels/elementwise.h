// Elementwise loops over contiguous arrays. An output may be exactly one of the inputs, never a
// shifted one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/parallel.h"
#include "kernels/simd.h"

namespace dygraph::kernels {

// y[i] = f(x[i]). `cost` as for Grain.
template <class Out, class In, class F>
void Map(const In* x, Out* y, int64_t n, F f, int64_t cost = 1) {
  ParallelFor(n, Grain(cost), [=](int64_t begin, int64_t end) {
    SimdFor<In>([=] {
      DYGRAPH_IVDEP
      for (int64_t i = begin; i < end; ++i) y[i] = f(x[i]);
    });
  });
}

// out[i] = f(x[i], y[i]).
template <class A, class B, class Out, class F>
void Zip(const A* x, const B* y, Out* out, int64_t n, F f, int64_t cost = 1) {
  ParallelFor(n, Grain(cost), [=](int64_t begin, int64_t end) {
    SimdFor<A>([=] {
      DYGRAPH_IVDEP
      for (int64_t i = begin; i < end; ++i) out[i] = f(x[i], y[i]);
    });
  });
}

// out[i] = f(x[i], s) and out[i] = f(s, x[i]).
template <class A, class S, class Out, class F>
void ZipScalar(const A* x, S s, Out* out, int64_t n, F f, int64_t cost = 1) {
  Map(x, out, n, [=](A v) { return f(v, s); }, cost);
}
template <class S, class A, class Out, class F>
void ScalarZip(S s, const A* x, Out* out, int64_t n, F f, int64_t cost = 1) {
  Map(x, out, n, [=](A v) { return f(s, v); }, cost);
}

// out[i] = f(x[i], y[i], z[i]).
template <class A, class B, class C, class Out, class F>
void Zip3(const A* x, const B* y, const C* z, Out* out, int64_t n, F f, int64_t cost = 1) {
  ParallelFor(n, Grain(cost), [=](int64_t begin, int64_t end) {
    SimdFor<A>([=] {
      DYGRAPH_IVDEP
      for (int64_t i = begin; i < end; ++i) out[i] = f(x[i], y[i], z[i]);
    });
  });
}

// The same loops without a copy for each instruction set: for functions that are long, or rare.
template <class Out, class In, class F>
void MapPlain(const In* x, Out* y, int64_t n, F f, int64_t cost = 1) {
  ParallelFor(n, Grain(cost), [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] = f(x[i]);
  });
}
template <class A, class B, class Out, class F>
void ZipPlain(const A* x, const B* y, Out* out, int64_t n, F f, int64_t cost = 1) {
  ParallelFor(n, Grain(cost), [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) out[i] = f(x[i], y[i]);
  });
}

// y[i] = value. Zeros, and other values whose bytes are alike, are left to memset.
template <class T>
void Fill(T* y, int64_t n, T value) {
  unsigned char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  const unsigned char first = bytes[0];
  const bool alike = std::all_of(bytes, bytes + sizeof(T), [=](auto b) { return b == first; });
  ParallelFor(n, Grain(), [=](int64_t begin, int64_t end) {
    if (alike)
      std::memset(static_cast<void*>(y + begin), first,
                  static_cast<size_t>(end - begin) * sizeof(T));
    else
      std::fill(y + begin, y + end, value);
  });
}

// y[i] = f(), one value for all.
template <class T, class F>
void FillWith(T* y, int64_t n, F f) {
  if (n > 0) Fill(y, n, static_cast<T>(f()));
}

}  // namespace dygraph::kernels

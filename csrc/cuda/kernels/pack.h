// Elements that one thread loads or stores at once.
#pragma once

#include <cstdint>

#include "kernels/convert.h"
#include "kernels/simd.h"

namespace dygraph::kernels::detail {

template <class T, int N>
struct alignas(N == 1 ? alignof(T) : sizeof(T) * N) Pack {
  T v[N];
};

constexpr int Largest(std::initializer_list<size_t> sizes) {
  size_t most = 1;
  for (size_t size : sizes) most = size > most ? size : most;
  return static_cast<int>(most);
}

// How many elements of each type go into one pack: 16 bytes of the largest type.
template <class... T>
constexpr int kPackSize = 16 % Largest({sizeof(T)...}) == 0 && ((16 % sizeof(T) == 0) && ...)
                              ? 16 / Largest({sizeof(T)...})
                              : 1;

// Whether packs of N may be read and written at p.
template <int N, class T>
bool IsAligned(const T* p) {
  return reinterpret_cast<uintptr_t>(p) % alignof(Pack<T, N>) == 0;
}

template <int N, class T>
DYGRAPH_INLINE const Pack<T, N>* PacksOf(const T* p) {
  return reinterpret_cast<const Pack<T, N>*>(p);
}
template <int N, class T>
DYGRAPH_INLINE Pack<T, N>* PacksOf(T* p) {
  return reinterpret_cast<Pack<T, N>*>(p);
}

// f of the elements at each place of the packs; 16-bit floats come as floats.
template <class Out, int N, class F, class... In>
DYGRAPH_INLINE Pack<Out, N> OfPacks(const F& f, const Pack<In, N>&... a) {
  Pack<Out, N> r;
  DYGRAPH_UNROLL
  for (int k = 0; k < N; ++k) r.v[k] = f(static_cast<Wide<In>>(a.v[k])...);
  return r;
}

}  // namespace dygraph::kernels::detail

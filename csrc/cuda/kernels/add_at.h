// kernels/add_at.h on the device.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/loops.h"

namespace dygraph::kernels {

template <class F>
void ForEachAdding(int64_t n, F f) {
  ForEach(n, f);
}
template <class F>
void ForEachAdding(int64_t rows, int64_t n, F f) {
  ForEach(rows * n, [=] DYGRAPH_FN(int64_t i) { f(i / n, i % n); });
}

template <class T>
DYGRAPH_INLINE void AddAt(T* to, T v) {
#if defined(__CUDA_ARCH__) || !defined(__CUDACC__)
  if constexpr (std::is_same_v<T, int64_t>) {
    atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(v));
  } else {
    atomicAdd(to, v);
  }
#else
  (void)to, (void)v;
#endif
}

}  // namespace dygraph::kernels

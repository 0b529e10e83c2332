// kernels/unpool.h on the device.
#pragma once

#include <cstdint>

#include "cuda/launch.h"
#include "cuda/scratch.h"
#include "kernels/elementwise.h"
#include "kernels/positions.h"

namespace dygraph::kernels {

namespace detail {
DYGRAPH_INLINE void KeepMost(int* to, int v) {
#if defined(__CUDA_ARCH__) || !defined(__CUDACC__)
  atomicMax(to, v);
#else
  (void)to, (void)v;
#endif
}

// last[place] = the largest of the numbers that name it.
inline void FindLast(const Positions& at, int64_t channels, int64_t in, int64_t size, int* last) {
  Fill(last, channels * size, -1);
  cuda::EachIndex(channels * in, [=] DYGRAPH_FN(int64_t i) {
    KeepMost(&last[i / in * size + at[i]], static_cast<int>(i % in));
  });
}
}  // namespace detail

template <class T>
void Unpool(const T* x, const Positions& at, int64_t channels, int64_t in, int64_t size, T* y) {
  cuda::Workspace<int> room(channels * size);
  int* last = room.data();
  detail::FindLast(at, channels, in, size, last);
  cuda::EachIndex(channels * in, [=] DYGRAPH_FN(int64_t i) {
    const int64_t place = i / in * size + at[i];
    if (last[place] == i % in) y[place] = x[i];
  });
}

template <class T>
void UnpoolBackward(const T* dy, const Positions& at, int64_t channels, int64_t in, int64_t size,
                    T* dx) {
  cuda::Workspace<int> room(channels * size);
  int* last = room.data();
  detail::FindLast(at, channels, in, size, last);
  cuda::EachIndex(channels * in, [=] DYGRAPH_FN(int64_t i) {
    const int64_t place = i / in * size + at[i];
    dx[i] = last[place] == i % in ? dy[place] : T(0);
  });
}

}  // namespace dygraph::kernels

// kernels/loops.h on the device: a thread for each index, a team of threads for each row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cuda/launch.h"
#include "kernels/parallel.h"
#include "kernels/team.h"

namespace dygraph::kernels {

// f(i) for every i in [0, n), in any order.
template <class F>
void ForEach(int64_t n, F f, int64_t = 1) {
  cuda::EachIndex(n, f);
}
template <class T, class F>
void ForEachSimd(int64_t n, F f, int64_t = 1) {
  cuda::EachIndex(n, f);
}

// The threads that share one row: the block. All of them must make the same calls in the same
// order.
class Team {
 public:
  // f(j) for every j in [0, n). A j has the same thread in every call, so what f wrote at j may be
  // read at j later; of other places only after Sync.
  template <class F>
  DYGRAPH_INLINE void Each(int64_t n, F f) const {
    for (int64_t j = threadIdx.x; j < n; j += blockDim.x) f(j);
  }
  // The sum of f(j) over [0, n); floats are added in double after every 64.
  template <class T, class F>
  DYGRAPH_INLINE T Sum(int64_t n, F f) const {
    using Wide = std::conditional_t<std::is_same_v<T, float>, double, T>;
    Wide sum = 0;
    for (int64_t j = threadIdx.x; j < n;) {
      T part = 0;
      for (int k = 0; k < 64 && j < n; ++k, j += blockDim.x) part += f(j);
      sum += part;
    }
    return static_cast<T>(Together(sum, [](Wide a, Wide b) { return a + b; }));
  }
  // The largest of f(j) and low, the smallest of f(j) and high; a NaN wins.
  template <class T, class F>
  DYGRAPH_INLINE T Max(int64_t n, T low, F f) const {
    return Merge(n, low, f, [](T a, T b) { return a > b || a != a ? a : b; });
  }
  template <class T, class F>
  DYGRAPH_INLINE T Min(int64_t n, T high, F f) const {
    return Merge(n, high, f, [](T a, T b) { return a < b || a != a ? a : b; });
  }
  // merge of init and all f(j), in a fixed order; init must be neutral, since every thread begins
  // with it.
  template <class T, class F, class M>
  DYGRAPH_INLINE T Merge(int64_t n, T init, F f, M merge) const {
    T mine = init;
    for (int64_t j = threadIdx.x; j < n; j += blockDim.x) mine = merge(mine, f(j));
    return Together(mine, merge);
  }
  // f() once.
  template <class F>
  DYGRAPH_INLINE void Once(F f) const {
    if (threadIdx.x == 0) f();
  }
  // What a thread has written before, all may read after. A template as its neighbours are: nvcc
  // looks at calls from host functions to those of the device where they are not.
  template <class T = void>
  DYGRAPH_INLINE void Sync() const {
    Barrier<T>();
  }

 private:
  template <class>
  static __device__ __forceinline__ void Barrier() {
    __syncthreads();
  }
  template <class T, class M>
  static __device__ __forceinline__ T Together(T mine, const M& merge) {
    mine = detail::MergeLanes(mine, detail::kWarp, merge);
    if (blockDim.x <= detail::kWarp) return mine;
    __shared__ T warps[cuda::kThreads / detail::kWarp];
    __syncthreads();  // the others have read what an earlier call left here
    if (threadIdx.x % detail::kWarp == 0) warps[threadIdx.x / detail::kWarp] = mine;
    __syncthreads();
    mine = warps[0];
    const int count = blockDim.x / detail::kWarp;
    for (int w = 1; w < count; ++w) mine = merge(mine, warps[w]);
    return mine;
  }
};

namespace detail {
template <class F>
__global__ void __launch_bounds__(cuda::kThreads) RowKernel(int64_t rows, F f) {
  for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) f(r, Team());
}
}  // namespace detail

// f(r, team) for every row of about `width` elements.
template <class F>
void ForEachRow(int64_t rows, int64_t width, F f, int64_t = 1) {
  if (rows <= 0) return;
  const int threads = width >= 1024 ? cuda::kThreads : width >= 256 ? 128 : detail::kWarp;
  const int64_t blocks = std::min(rows, cuda::kMostBlocks * cuda::kThreads / threads);
  cuda::Launch(detail::RowKernel<F>, dim3(static_cast<unsigned>(blocks)), dim3(threads), 0,
               cuda::CurrentStream(), rows, f);
  cuda::Check(cudaPeekAtLastError(), "a launch");
}

}  // namespace dygraph::kernels

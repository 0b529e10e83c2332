// Launches of kernels on the stream of the calling thread, and the loop over an index.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "cuda/stream.h"

namespace dygraph::cuda {

#ifdef __CUDACC__
// kernel<<<grid, block, shared, stream>>>(a...). Elsewhere cuda_runtime.h has it.
template <class... P, class... A>
void Launch(void (*kernel)(P...), dim3 grid, dim3 block, size_t shared, cudaStream_t stream,
            const A&... a) {
  kernel<<<grid, block, shared, stream>>>(a...);
}
#endif

constexpr int kThreads = 256;          // of a block
constexpr int64_t kMostBlocks = 2112;  // of a grid: two for each that the largest device holds

// Blocks for n items where each takes `per_block`; kernels walk on where there are more.
inline unsigned Blocks(int64_t n, int64_t per_block = kThreads) {
  return static_cast<unsigned>(std::min((n + per_block - 1) / per_block, kMostBlocks));
}

// A launch of blocks of kThreads threads; throws what CUDA says of it.
template <class... P, class... A>
void Run(void (*kernel)(P...), dim3 grid, const A&... a) {
  Launch(kernel, grid, dim3(kThreads), 0, CurrentStream(), a...);
  Check(cudaPeekAtLastError(), "a launch");
}

// Counts in 32 bits: the loop is a compare and an add.
template <class F>
__global__ void __launch_bounds__(kThreads) IndexKernel(int64_t first, uint32_t n, F f) {
  const uint32_t step = kThreads * gridDim.x;
  for (uint32_t i = blockIdx.x * kThreads + threadIdx.x; i < n; i += step) f(first + i);
}

// f(i) for every i in [0, n), in any order. Its name differs from that of kernels::ForEach: what a
// lambda captures would have the compiler look in both namespaces.
template <class F>
void EachIndex(int64_t n, F f) {
  constexpr int64_t kMost = int64_t{1} << 31;
  for (int64_t first = 0; first < n; first += kMost) {
    const int64_t count = std::min(n - first, kMost);
    Run(IndexKernel<F>, Blocks(count), first, static_cast<uint32_t>(count), f);
  }
}

}  // namespace dygraph::cuda

// Kernels of every kind that the pretended CUDA knows. nvcc and g++ both compile this file:
//   nvcc -ptx -std=c++17 -arch=sm_90 sample_kernels.cu
#include <cuda_runtime.h>

#include <cstdint>

namespace sample {

// The memory that a launch asks for with its third number.
template <class T>
__device__ __forceinline__ T* DynamicShared() {
#ifdef __CUDACC__
  extern __shared__ __align__(128) unsigned char memory[];
  return reinterpret_cast<T*>(memory);
#else
  return static_cast<T*>(pretend::DynamicShared());
#endif
}

struct Pair {  // 16 bytes: a value and its place
  double value;
  int64_t at;
};

__global__ void AddTo(const float* x, float* y, int64_t n) {
  int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) y[i] += __ldg(x + i);
}

__global__ void Nothing(int) {}

// The sum of all n numbers, by one block.
__global__ void __launch_bounds__(1024) Sum(const float* x, float* y, int n) {
  __shared__ float parts[32];
  float mine = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) mine += x[i];
  for (int step = 16; step > 0; step /= 2) mine += __shfl_down_sync(0xffffffffu, mine, step);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x < 32) {
    mine = threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x] : 0;
    for (int step = 16; step > 0; step /= 2) mine += __shfl_xor_sync(0xffffffffu, mine, step);
    if (threadIdx.x == 0) *y = mine;
  }
}

// Each block turns its part around in dynamic shared memory. Without the barrier it goes wrong.
__global__ void Turn(int* x, bool barrier) {
  int* held = DynamicShared<int>();
  int n = static_cast<int>(blockDim.x), i = static_cast<int>(threadIdx.x);
  int* part = x + blockIdx.x * blockDim.x;
  held[i] = part[i];
  if (barrier) __syncthreads();
  part[i] = held[n - 1 - i];
}

// What the exchanges give, 12 numbers a lane.
__global__ void Exchanges(int64_t* out) {
  constexpr unsigned kAll = 0xffffffffu;
  int lane = static_cast<int>(threadIdx.x) % 32;
  int64_t* to = out + 12 * threadIdx.x;
  to[0] = __shfl_sync(kAll, lane * 10, 7);
  to[1] = __shfl_sync(kAll, static_cast<int64_t>(lane) << 40, lane + 1);
  to[2] = __shfl_up_sync(kAll, lane, 3u);
  to[3] = __shfl_down_sync(kAll, lane, 3u);
  to[4] = __shfl_xor_sync(kAll, lane, 5);
  to[5] = __shfl_xor_sync(kAll, lane, 4, 8);
  to[6] = __shfl_down_sync(kAll, lane, 1u, 8);
  to[7] = __ballot_sync(kAll, lane % 3 == 0);
  to[8] = __any_sync(kAll, lane == 31);
  to[9] = __all_sync(kAll, lane < 31);
  to[10] = lane < 16 ? __shfl_xor_sync(0x0000ffffu, lane, 1) : -1;
  __syncwarp();
  to[11] = __popc(static_cast<unsigned>(lane)) + 100 * __clz(lane) + 10000 * __ffs(lane);
}

#ifndef __CUDACC__
// The real exchange takes numbers of 4 and 8 bytes; the pretended one anything up to 16.
__global__ void LargestPair(Pair* pairs) {
  Pair mine = pairs[threadIdx.x];
  for (int step = 16; step > 0; step /= 2) {
    Pair other = __shfl_xor_sync(0xffffffffu, mine, step);
    if (other.value > mine.value) mine = other;
  }
  if (threadIdx.x == 0) pairs[0] = mine;
}
#endif

__global__ void Atomics(int* i, unsigned* u, unsigned long long* l, float* f, double* d) {
  int n = static_cast<int>(threadIdx.x);
  atomicAdd(i, 1);
  atomicMax(i + 1, n);
  atomicMin(i + 2, -n);
  atomicExch(i + 3, 5);
  atomicAdd(u, 2u);
  atomicOr(u + 1, 1u << n % 32);
  atomicAnd(u + 2, ~(1u << n % 32));
  atomicCAS(u + 3, 0u, static_cast<unsigned>(n) + 1);
  atomicAdd(l, 1ull);
  atomicMax(l + 1, static_cast<unsigned long long>(n));
  atomicCAS(l + 2, 0ull, 9ull);
  atomicAdd(f, 0.5f);
  atomicAdd(d, 0.25);
}

// A barrier that half of the threads never reach.
__global__ void HalfBarrier() {
  if (threadIdx.x < blockDim.x / 2) return;
  __syncthreads();
}

__global__ void Store(int* to, int value) { *to = value; }

__global__ void Functions(float* y) {
  y[0] = rsqrtf(4.0f);
  y[1] = min(2.0f, 1.0f) + max(3, 4);
  y[2] = static_cast<float>(__umulhi(0x80000000u, 6u));
  y[3] = __uint_as_float(0x40400000u);
  y[4] = __fmaf_rn(2.0f, 3.0f, 4.0f);
}

}  // namespace sample

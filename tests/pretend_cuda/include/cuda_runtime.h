// The device side of the pretended CUDA, for kernels that g++ compiles. A kernel is an ordinary
// function; the threads of a block run one after another, as fibers where they wait for each other.
#pragma once

#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "cuda_runtime_api.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __shared__ static
#define __grid_constant__
#define __align__(bytes) alignas(bytes)

namespace pretend {

struct Index {
  unsigned x, y, z;
};
extern bool noop;                                 // launches do nothing
extern Index thread, block, block_dim, grid_dim;  // of the thread that runs

// What a lane gives to or gets from the others of its warp.
struct Payload {
  uint64_t low = 0, high = 0;
};

void Barrier();                                                    // __syncthreads
void SyncWarp(unsigned mask);                                      // __syncwarp
Payload Exchange(unsigned mask, const Payload& mine, int source);  // the payload of lane `source`
unsigned Ballot(unsigned mask, bool mine);                         // bits of the lanes that say yes
unsigned Lane();                                                   // of the thread, 0 to 31

// The memory that a launch asks for with its third number, 128-byte aligned, the same for all
// threads of a block. `extern __shared__` has no counterpart here.
void* DynamicShared();

// Work of a stream.
class Work {
 public:
  virtual ~Work() = default;
  virtual void Run() = 0;
};

// One launch: grid and block by value, so that a graph can play it again.
class Launched : public Work {
 public:
  Launched(const void* kernel, dim3 grid, dim3 block, size_t shared)
      : kernel_(kernel), grid_(grid), block_(block), shared_(shared) {}
  void Run() override;  // all threads of all blocks
  virtual void RunThread() const = 0;
  virtual const void* Arguments(size_t* bytes) const = 0;
  const void* kernel() const { return kernel_; }

 private:
  const void* kernel_;
  dim3 grid_, block_;
  size_t shared_;
};

// What the real runtime would say of this launch.
cudaError_t CheckLaunch(const void* kernel, dim3 grid, dim3 block, size_t shared,
                        cudaStream_t stream);
void Enqueue(cudaStream_t stream, std::shared_ptr<Launched> launched);

template <class... P>
class Call final : public Launched {
 public:
  template <class... A>
  Call(void (*kernel)(P...), dim3 grid, dim3 block, size_t shared, const A&... a)
      : Launched(reinterpret_cast<const void*>(kernel), grid, block, shared),
        call_(kernel),
        arguments_(static_cast<P>(a)...) {}
  void RunThread() const override { std::apply(call_, arguments_); }
  const void* Arguments(size_t* bytes) const override {
    *bytes = sizeof arguments_;
    return &arguments_;
  }

 private:
  void (*call_)(P...);
  std::tuple<std::remove_cv_t<P>...> arguments_;
};

template <class T>
T Shuffle(unsigned mask, const T& mine, int source) {
  static_assert(sizeof(T) <= sizeof(Payload) && std::is_trivially_copyable_v<T>);
  Payload bits;
  std::memcpy(static_cast<void*>(&bits), &mine, sizeof(T));
  bits = Exchange(mask, bits, source);
  T theirs = mine;
  std::memcpy(static_cast<void*>(&theirs), &bits, sizeof(T));
  return theirs;
}

}  // namespace pretend

#define threadIdx (::pretend::thread)
#define blockIdx (::pretend::block)
#define blockDim (::pretend::block_dim)
#define gridDim (::pretend::grid_dim)
constexpr int warpSize = 32;

// Barriers and the exchange between lanes ---------------------------------------------------------

inline void __syncthreads() { pretend::Barrier(); }
inline void __syncwarp(unsigned mask = 0xffffffffu) { pretend::SyncWarp(mask); }
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() { __threadfence_block(); }

// As on a device: `width` lanes form a group, and a lane whose source lies outside keeps its value.
template <class T>
T __shfl_sync(unsigned mask, T v, int source, int width = 32) {
  int lane = static_cast<int>(pretend::Lane());
  return pretend::Shuffle(mask, v, (lane & ~(width - 1)) + (source & (width - 1)));
}
template <class T>
T __shfl_xor_sync(unsigned mask, T v, int bits, int width = 32) {
  int lane = static_cast<int>(pretend::Lane()), from = lane ^ bits;
  return pretend::Shuffle(mask, v, from <= (lane | (width - 1)) ? from : lane);
}
template <class T>
T __shfl_down_sync(unsigned mask, T v, unsigned by, int width = 32) {
  int lane = static_cast<int>(pretend::Lane()), from = lane + static_cast<int>(by);
  return pretend::Shuffle(mask, v, from <= (lane | (width - 1)) ? from : lane);
}
template <class T>
T __shfl_up_sync(unsigned mask, T v, unsigned by, int width = 32) {
  int lane = static_cast<int>(pretend::Lane()), from = lane - static_cast<int>(by);
  return pretend::Shuffle(mask, v, from >= (lane & ~(width - 1)) ? from : lane);
}
inline unsigned __ballot_sync(unsigned mask, int yes) { return pretend::Ballot(mask, yes != 0); }
inline int __any_sync(unsigned mask, int yes) { return pretend::Ballot(mask, yes != 0) != 0; }
inline int __all_sync(unsigned mask, int yes) { return pretend::Ballot(mask, yes == 0) == 0; }

// Atomics: threads never interrupt each other here ------------------------------------------------

namespace pretend {
template <class T>
using Same = std::common_type_t<T>;  // keeps the second argument out of the deduction of T
template <class T, class F>
T Replace(T* at, F value) {
  T old = *at;
  *at = value(old);
  return old;
}
template <class T>
constexpr bool kWord =
    std::is_same_v<T, int> || std::is_same_v<T, unsigned> || std::is_same_v<T, unsigned long long>;
template <class T>
constexpr bool kWordOrLong = kWord<T> || std::is_same_v<T, long long>;
}  // namespace pretend

template <class T>
T atomicAdd(T* at, pretend::Same<T> v) {
  static_assert(pretend::kWord<T> || std::is_floating_point_v<T>, "CUDA has no such atomicAdd");
  return pretend::Replace(at, [&](T old) { return static_cast<T>(old + v); });
}
template <class T>
T atomicSub(T* at, pretend::Same<T> v) {
  static_assert(std::is_same_v<T, int> || std::is_same_v<T, unsigned>,
                "CUDA has no such atomicSub");
  return pretend::Replace(at, [&](T old) { return static_cast<T>(old - v); });
}
template <class T>
T atomicMax(T* at, pretend::Same<T> v) {
  static_assert(pretend::kWordOrLong<T>, "CUDA has no such atomicMax");
  return pretend::Replace(at, [&](T old) { return v > old ? v : old; });
}
template <class T>
T atomicMin(T* at, pretend::Same<T> v) {
  static_assert(pretend::kWordOrLong<T>, "CUDA has no such atomicMin");
  return pretend::Replace(at, [&](T old) { return v < old ? v : old; });
}
template <class T>
T atomicExch(T* at, pretend::Same<T> v) {
  static_assert(pretend::kWord<T> || std::is_same_v<T, float>, "CUDA has no such atomicExch");
  return pretend::Replace(at, [&](T) { return v; });
}
template <class T>
T atomicCAS(T* at, pretend::Same<T> expected, pretend::Same<T> v) {
  static_assert(pretend::kWord<T> || std::is_same_v<T, unsigned short>,
                "CUDA has no such atomicCAS");
  return pretend::Replace(at, [&](T old) { return old == expected ? v : old; });
}
template <class T>
T atomicOr(T* at, pretend::Same<T> v) {
  static_assert(pretend::kWord<T>, "CUDA has no such atomicOr");
  return pretend::Replace(at, [&](T old) { return static_cast<T>(old | v); });
}
template <class T>
T atomicAnd(T* at, pretend::Same<T> v) {
  static_assert(pretend::kWord<T>, "CUDA has no such atomicAnd");
  return pretend::Replace(at, [&](T old) { return static_cast<T>(old & v); });
}

// Instructions ------------------------------------------------------------------------------------

template <class T>
T __ldg(const T* p) {
  return *p;
}
inline int __popc(unsigned v) { return __builtin_popcount(v); }
inline int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
inline int __clz(int v) { return v ? __builtin_clz(static_cast<unsigned>(v)) : 32; }
inline int __clzll(long long v) {
  return v ? __builtin_clzll(static_cast<unsigned long long>(v)) : 64;
}
inline int __ffs(int v) { return __builtin_ffs(v); }
inline int __ffsll(long long v) { return __builtin_ffsll(v); }
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<uint64_t>(a) * b) >> 32);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>((static_cast<unsigned __int128>(a) * b) >> 64);
}
template <class To, class From>
To pretend_bits(From v) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &v, sizeof(To));
  return to;
}
inline int __float_as_int(float v) { return pretend_bits<int>(v); }
inline unsigned __float_as_uint(float v) { return pretend_bits<unsigned>(v); }
inline float __int_as_float(int v) { return pretend_bits<float>(v); }
inline float __uint_as_float(unsigned v) { return pretend_bits<float>(v); }
inline long long __double_as_longlong(double v) { return pretend_bits<long long>(v); }
inline double __longlong_as_double(long long v) { return pretend_bits<double>(v); }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
inline float rsqrtf(float v) { return 1.0f / std::sqrt(v); }
inline double rsqrt(double v) { return 1.0 / std::sqrt(v); }
inline float rsqrt(float v) { return rsqrtf(v); }

// CUDA has these outside of std, for equal types.
#define PRETEND_MIN_MAX(T)                         \
  inline T min(T a, T b) { return b < a ? b : a; } \
  inline T max(T a, T b) { return a < b ? b : a; }
PRETEND_MIN_MAX(int)
PRETEND_MIN_MAX(unsigned)
PRETEND_MIN_MAX(long)
PRETEND_MIN_MAX(unsigned long)
PRETEND_MIN_MAX(long long)
PRETEND_MIN_MAX(unsigned long long)
#undef PRETEND_MIN_MAX
inline float min(float a, float b) { return std::fmin(a, b); }
inline float max(float a, float b) { return std::fmax(a, b); }
inline double min(double a, double b) { return std::fmin(a, b); }
inline double max(double a, double b) { return std::fmax(a, b); }

// Vectors, for loads and stores of up to 16 bytes.
struct alignas(8) int2 {
  int x, y;
};
struct alignas(16) int4 {
  int x, y, z, w;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) double2 {
  double x, y;
};
struct alignas(16) longlong2 {
  long long x, y;
};
struct alignas(16) ulonglong2 {
  unsigned long long x, y;
};

namespace dygraph::cuda {

// kernel<<<grid, block, shared, stream>>>(arguments...), and what became of it.
template <class... P, class... A>
cudaError_t Launch(void (*kernel)(P...), dim3 grid, dim3 block, size_t shared, cudaStream_t stream,
                   const A&... a) {
  static_assert(sizeof...(P) == sizeof...(A), "a kernel takes as many arguments as it has");
  if (pretend::noop) return cudaSuccess;
  cudaError_t error =
      pretend::CheckLaunch(reinterpret_cast<const void*>(kernel), grid, block, shared, stream);
  if (error != cudaSuccess) return error;
  pretend::Enqueue(stream,
                   std::make_shared<pretend::Call<P...>>(kernel, grid, block, shared, a...));
  return cudaSuccess;
}

}  // namespace dygraph::cuda
